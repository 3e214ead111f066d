"""Deliveries: each event is sent to every subscriber, and retried until it arrives or is given up."""

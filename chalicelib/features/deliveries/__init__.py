"""Deliveries: the way of each event to those who subscribed to it, tried until it arrives or is given up."""

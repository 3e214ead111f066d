"""Delivery of events to subscribers: fan-out, batches, attempts and retries."""

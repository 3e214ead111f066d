"""Batches of log entries, and the requests that send them to the destinations of log streams."""

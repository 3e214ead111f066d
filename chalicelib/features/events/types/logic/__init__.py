"""The logic of event types."""

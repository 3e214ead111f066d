"""The dead-letter queues, as operators see them over HTTP."""

"""What surrounds every operation: the pipeline from the request to the response."""

"""Execution of operations: the pipeline from the request to the response."""

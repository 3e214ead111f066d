"""Response models of reference data, and the format of their file."""

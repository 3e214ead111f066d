"""Privacy: erasure of personal data."""

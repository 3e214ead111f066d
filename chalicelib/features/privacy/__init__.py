"""Privacy: the erasure of a person's data."""

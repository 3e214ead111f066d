"""The unit of work, and the items that a transaction writes beside its records."""

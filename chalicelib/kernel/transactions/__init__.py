"""The unit of work, and the items that a transaction writes in addition to records."""

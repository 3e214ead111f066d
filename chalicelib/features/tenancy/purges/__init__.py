"""Purges: the removal of all that a deleted place held."""

"""Removal of the contents of deleted containers."""

"""Queries of reference data, and the cache of the process."""

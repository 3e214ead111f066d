"""Queries of reference data, and the cache of each process."""

"""Visits of published sites, by host and path."""

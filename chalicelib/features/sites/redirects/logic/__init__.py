"""Queries, changes and resolution of redirects."""

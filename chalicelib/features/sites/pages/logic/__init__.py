"""Queries, changes and publication of pages."""

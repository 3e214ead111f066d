"""Clients of public sources, imports, reconciliation, and the visibility of libraries."""

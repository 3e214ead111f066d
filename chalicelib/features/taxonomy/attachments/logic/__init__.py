"""Queries and removal of attachments, and the visibility of their entities."""

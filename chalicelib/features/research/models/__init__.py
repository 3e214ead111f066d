"""Requests and responses of research, identifiers of works and people, and venues."""

"""Requests, bodies and their validation."""

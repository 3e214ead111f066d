"""Requests, and the validation of their bodies and queries."""

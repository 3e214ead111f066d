"""Redirects of a site."""

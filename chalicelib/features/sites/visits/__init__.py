"""Visits: what whoever comes to a site is given, by host and path."""

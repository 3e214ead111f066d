"""Redirects: where the addresses of a site lead that are no pages."""

"""Domains: the custom domains of an organization's platforms, and their verification in DNS."""

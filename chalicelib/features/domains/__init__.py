"""Domains: by which names an organization's platforms are reached, and which of those names are verified."""

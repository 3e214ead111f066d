"""Capabilities: what a space offers, by keys that its callers choose."""

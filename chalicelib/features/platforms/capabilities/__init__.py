"""Capabilities: what a space offers, identified by keys that the caller chooses."""

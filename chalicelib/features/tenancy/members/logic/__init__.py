"""Leaving a container, and the API keys that depend on a membership."""

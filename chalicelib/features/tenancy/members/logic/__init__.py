"""Leaving a container, and API keys that depend on a membership."""

"""Replays: sending many deliveries of a webhook again."""

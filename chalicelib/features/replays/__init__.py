"""Replays: deliveries to a webhook that are made once more, many at a time."""

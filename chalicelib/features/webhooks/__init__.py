"""Webhooks: addresses of an organization's own programs that its events are sent to."""

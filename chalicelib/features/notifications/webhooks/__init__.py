"""Webhooks: HTTP endpoints of an organization's own systems that receive its events."""

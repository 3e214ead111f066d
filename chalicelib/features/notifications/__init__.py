"""Notifications: an organization's events are sent to its webhooks and chat channels."""

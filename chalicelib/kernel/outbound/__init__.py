"""Connections to external servers: webhooks, DNS, e-mail."""

"""Invitations to organizations and platforms, and the responses to them."""

"""Tokens, sending and acceptance of invitations."""

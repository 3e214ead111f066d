"""Invitations: how people are asked to join, and how they answer."""

"""Memberships of a container of any type: joining, lists and rules."""

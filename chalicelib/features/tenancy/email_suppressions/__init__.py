"""Suppressions: the addresses that want no more mail of invitations."""

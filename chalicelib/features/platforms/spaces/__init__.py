"""Spaces: the rooms of a platform, open to its members or private."""

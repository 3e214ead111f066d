"""Spaces of a platform, open to its members or private, and their members."""

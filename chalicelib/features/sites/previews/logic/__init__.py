"""Tokens of previews, and pages as of a revision."""

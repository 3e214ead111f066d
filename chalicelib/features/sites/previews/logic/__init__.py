"""Tokens of previews, and pages at a revision."""

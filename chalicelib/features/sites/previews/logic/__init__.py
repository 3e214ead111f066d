"""Tokens of preview links, and pages as of one of their revisions."""

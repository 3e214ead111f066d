"""Submissions of leads: their storage, status and tokens."""

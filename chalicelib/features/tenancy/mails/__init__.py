"""Mails to one person: their job, the limits per recipient, and the suppression list."""

"""Exports of the audit log: at once in one answer, or as a file that is made in the background."""

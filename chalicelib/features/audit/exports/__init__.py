"""Exports of the audit log: inline in one response, or as a file made in the background."""

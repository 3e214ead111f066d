"""Erasures: a person's data leaves an organization's records and its log, and the log stays provable."""

"""Erasures of a person's data from an organization's records and log. The log stays verifiable."""

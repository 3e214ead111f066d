"""The summary of an organization: the numbers on its start page."""

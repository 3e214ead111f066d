"""The search for organizations by operators of the service."""

"""API keys, the credentials that an organization gives to its own programs."""

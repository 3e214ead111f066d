"""API keys: the credentials an organization gives its own programs."""

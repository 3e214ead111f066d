"""Messages for chat providers, and their delivery."""

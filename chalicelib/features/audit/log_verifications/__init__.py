"""Verifications of all logs: those of the organizations, and those of the service itself."""

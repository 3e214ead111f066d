"""Authentication of callers: users by JSON Web Token, and API keys."""

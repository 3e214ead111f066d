"""Who calls: users by JSON Web Token, API keys, and their verification."""

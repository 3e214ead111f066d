"""Creation and revocation of API keys."""

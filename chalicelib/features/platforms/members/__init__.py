"""Members of a platform and their roles."""

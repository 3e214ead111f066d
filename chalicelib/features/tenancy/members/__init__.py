"""Members of an organization and their roles."""

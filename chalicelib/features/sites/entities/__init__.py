"""The stored sites, the states of their page trees, and their redirects."""

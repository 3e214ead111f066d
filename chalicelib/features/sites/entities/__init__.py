"""The stored records of sites and of their redirects."""

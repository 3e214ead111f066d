"""Platforms: the products of an organization, each with a theme, a navigation and a home page."""

"""Menus of a site."""

"""Rendering of pages as HTML."""

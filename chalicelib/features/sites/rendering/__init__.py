"""Rendering: a page of a site as HTML that people read."""

"""Taxonomy attachments: the assignment of taxonomy nodes to entities."""

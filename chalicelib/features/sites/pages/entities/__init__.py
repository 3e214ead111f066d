"""The stored pages, their revisions and renderings, and the slug index."""

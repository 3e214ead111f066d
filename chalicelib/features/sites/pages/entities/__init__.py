"""The stored records of pages, their revisions, renderings and slug index."""

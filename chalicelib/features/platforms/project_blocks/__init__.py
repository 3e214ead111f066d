"""Project blocks: the ordered blocks in which a platform presents its projects."""

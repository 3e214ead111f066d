"""Taxonomy: the tree of terms with which a platform classifies its content."""

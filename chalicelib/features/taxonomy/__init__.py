"""Taxonomy: the tree of terms by which a platform's people order things."""

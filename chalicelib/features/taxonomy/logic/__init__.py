"""Queries of nodes, and rules about the shape of the tree."""

"""Nodes: the terms of a taxonomy, in a tree."""

"""Changes of nodes, resolution of paths, and views of the tree."""

"""Trees of nodes whose slugs are unique among siblings: reading nodes, resolving paths, and checking moves."""

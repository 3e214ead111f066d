"""Declaration of operations: routes, access rules and results."""

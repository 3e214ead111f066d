"""How many requests a caller, an organization or a host may get in a time."""

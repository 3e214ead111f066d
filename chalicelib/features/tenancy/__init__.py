"""Organizations: the tenants, to which everything else belongs."""

"""Public sources, imports, reconciliation and visibility of works."""

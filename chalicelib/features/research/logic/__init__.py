"""Public sources, import, reconciliation and visibility of works."""

"""Publications of researchers and conferences from public sources, reconciled to works."""

"""Reconciliations: comparisons of an organization's stored records with its audit log."""

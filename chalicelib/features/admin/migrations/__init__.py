"""Migrations of the table's contents, applied once and in order."""

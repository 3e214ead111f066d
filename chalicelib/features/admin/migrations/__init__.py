"""Migrations: what has to become of the table's content before the code of today works with it, once and in order."""

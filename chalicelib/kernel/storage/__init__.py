"""Storage of records: entities, the table and files."""

"""Storage of records: entities, the table, files and trees."""

"""How records are stored: entities, the table, files and what they have in common."""

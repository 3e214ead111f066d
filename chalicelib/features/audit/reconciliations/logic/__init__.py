"""The comparison of records with the log: lookups of entries, rules, and the walks over records and entries."""

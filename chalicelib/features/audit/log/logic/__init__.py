"""Queries and verification of the log, and its checkpoints outside the table."""

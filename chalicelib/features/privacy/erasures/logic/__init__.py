"""Rules about the people to whom requests, records and log entries refer."""

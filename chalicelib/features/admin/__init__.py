"""Administration of the service: its status, and migrations of the table."""

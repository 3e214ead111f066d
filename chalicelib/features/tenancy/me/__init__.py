"""What the service knows about the caller and their credential."""

"""Settings of witnesses."""

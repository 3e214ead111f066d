"""Sites: what organizations publish."""

"""What leaves the service: connections to servers of others, DNS, e-mail."""

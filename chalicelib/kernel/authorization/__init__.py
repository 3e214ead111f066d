"""Whether a caller may do what a request asks, and what the request names."""

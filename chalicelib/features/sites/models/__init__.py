"""Request and response models of sites and redirects, time intervals, and URL paths."""

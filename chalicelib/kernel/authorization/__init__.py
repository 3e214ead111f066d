"""Authorization: what a request targets, and whether the caller may perform it."""

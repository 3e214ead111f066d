"""Rate limits of callers, organizations and hosts."""

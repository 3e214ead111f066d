"""Project blocks: what a platform shows of its projects, in an order, and which platforms show the same."""

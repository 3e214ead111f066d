"""Overviews: what start pages show of the records of several contexts."""

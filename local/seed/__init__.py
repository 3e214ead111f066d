"""Adds a realistic sample company to a running service, over HTTP only: `python -m local seed`.

`content/` contains the data, `callers` sends requests, and the other modules create the records. Each module first
looks for existing records. It leaves them unchanged, even if somebody has edited them, and creates the missing ones. So
a seed can be repeated, and continues where an earlier one ended.
"""

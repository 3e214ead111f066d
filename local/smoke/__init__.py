"""Checks a deployed stage or a local run from outside: `make smoke`."""

"""Fixtures: the documented measurements use the tenant of the catalogue's suites."""

from tests.catalogue.conftest import people, strangers, world

__all__ = ["people", "strangers", "world"]

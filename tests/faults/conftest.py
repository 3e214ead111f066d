"""Fixtures: fault injection uses the tenant of the catalogue's suites."""

from tests.catalogue.conftest import _as_documented, begin, people, strangers, world

__all__ = ["_as_documented", "begin", "people", "strangers", "world"]

"""Fixtures: the tests of logs use the tenant of the catalogue's suites."""

from tests.catalogue.conftest import begin, people, strangers, world

__all__ = ["begin", "people", "strangers", "world"]

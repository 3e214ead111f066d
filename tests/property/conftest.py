"""The tests of logs start with the tenant of the catalogue's tests."""

from tests.catalogue.conftest import begin, people, strangers, world

__all__ = ["begin", "people", "strangers", "world"]

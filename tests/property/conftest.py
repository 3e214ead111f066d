"""The tests of logs begin with the world that the catalogue's suites begin with."""

from tests.catalogue.conftest import begin, people, strangers, world

__all__ = ["begin", "people", "strangers", "world"]

"""The suites of faults begin with the world that the catalogue's suites begin with."""

from tests.catalogue.conftest import _as_documented, begin, people, strangers, world

__all__ = ["_as_documented", "begin", "people", "strangers", "world"]

"""What is measured is measured in the world that the catalogue's suites begin with."""

from tests.catalogue.conftest import people, strangers, world

__all__ = ["people", "strangers", "world"]

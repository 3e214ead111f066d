"""The people of the catalogue's suites."""

from tests.catalogue.conftest import people

__all__ = ["people"]

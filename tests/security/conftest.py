"""Fixtures: the attacks use the tenant of the catalogue's suites."""

from tests.catalogue.conftest import _as_documented, begin, people, strangers, world
from tests.kernel.conftest import token_issuer

__all__ = ["_as_documented", "begin", "people", "strangers", "token_issuer", "world"]

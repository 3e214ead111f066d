"""Fixtures: the documented measurements use the tenant of the catalogue's suites."""

from tests.catalogue.conftest import external_servers, people, tenant

__all__ = ["external_servers", "people", "tenant"]

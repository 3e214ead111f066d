"""The tests of logs start with the tenant of the catalogue's tests."""

from tests.catalogue.conftest import external_servers, people, restore_tenant, tenant

__all__ = ["external_servers", "people", "restore_tenant", "tenant"]

"""Fixtures: the attacks use the tenant of the catalogue's suites."""

from tests.catalogue.conftest import (
    _documented_log_records,
    external_servers,
    people,
    restore_tenant,
    tenant,
    unchanged,
)

__all__ = ["_documented_log_records", "external_servers", "people", "restore_tenant", "tenant", "unchanged"]

"""Fixtures of the suites that check every operation: a populated tenant, restored for each test."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from tests.catalogue.tenant_fixture import People, TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.external_servers import stub_external_servers
from tests.harness.log_fields import log_record_errors
from tests.harness.log_records import capture_log_records
from tests.harness.mailbox import Mailbox
from tests.harness.workers import Workers

T = TypeVar("T")
RestoreTenant = Callable[..., Any]


@pytest.fixture(scope="session")
def people(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person, issuer: Issuer
) -> People:
    """The people of the tenant and of the rivals' organization."""
    emmy = issuer.create_person("emmy", "Emmy Noether")
    return People(ada, grace, edith, mary, emmy, stranger, operator, issuer)


@pytest.fixture
def external_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stubs for the servers outside of the service, which accept all requests."""
    stub_external_servers(monkeypatch)


@pytest.fixture
def tenant(api: ApiClient, workers: Workers, people: People, mailbox: Mailbox, external_servers: None) -> TenantFixture:
    """Two populated organizations, with e-mail and webhooks configured."""
    tenant = snapshots.create_or_restore(("tenant",), lambda: TenantFixture.create(api, workers, people))
    return replace(tenant, api=api, workers=workers)


@pytest.fixture
def restore_tenant(tenant: TenantFixture) -> RestoreTenant:
    """A function that restores the tenant, optionally as another function has prepared it.

    Given a function and arguments, it calls the function only the first time and restores the resulting state later.
    """

    def begin(prepare: Callable[..., T] | None = None, *arguments: object) -> T | None:
        snapshots.create_or_restore(("tenant",), lambda: tenant)  # Discard the changes of the test so far.
        return (
            snapshots.create_or_restore((prepare, *arguments), lambda: prepare(tenant, *arguments)) if prepare else None
        )

    return begin


@pytest.fixture
def unchanged(tenant: TenantFixture) -> Iterator[None]:
    """Check that the test changes no stored item."""
    before = snapshots.items_by_key()
    yield
    assert snapshots.items_by_key() == before


@pytest.fixture(autouse=True)
def _documented_log_records() -> Iterator[None]:
    """Check that every log record conforms to `docs/operations/logs.md`."""
    with capture_log_records() as records:
        yield
    assert [error for record in records for error in log_record_errors(record)] == []

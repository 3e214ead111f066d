"""Fixtures of the tests of clients: the seeded service in memory, over HTTP and with faults."""

from collections.abc import Iterator

import pytest

from local.seed.callers import Service
from tests.clients.faulty_server import FaultyServer, serve_with_faults
from tests.console.conftest import seed_issuer, seeded_service
from tests.harness.api import ApiClient

__all__ = ["seed_issuer", "seeded_service", "server"]


@pytest.fixture
def server(api: ApiClient, seeded_service: Service) -> Iterator[FaultyServer]:
    """The service with the sample company, at a URL."""
    assert seeded_service.http.is_closed is False
    with serve_with_faults(api) as running:
        yield running

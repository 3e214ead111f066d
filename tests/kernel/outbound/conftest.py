"""Fixtures of the tests of connections to other servers."""

from collections.abc import Iterator

import pytest

from chalicelib.kernel.outbound import egress
from tests.conftest import SettingsOverride


@pytest.fixture(autouse=True)
def _reset_pool() -> Iterator[None]:
    yield
    egress.reset_pool()


@pytest.fixture
def allow_private_addresses(configure: SettingsOverride) -> None:
    """Allow requests to this machine."""
    configure(webhook_allow_private="1")

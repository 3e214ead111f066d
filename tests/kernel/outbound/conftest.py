"""Fixtures of the tests of connections to other servers."""

from collections.abc import Iterator

import pytest

from chalicelib.kernel.outbound import egress


@pytest.fixture(autouse=True)
def _reset_pool() -> Iterator[None]:
    yield
    egress.reset_pool()

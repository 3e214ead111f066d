"""Fixtures of the tests of execution."""

from collections.abc import Iterator

import pytest

from tests.harness.index_lag import LAGS, IndexLag, lag_indexes
from tests.harness.organizations import CreatedOrganization

_DEFAULT_LAGS = (1.2, 60)


@pytest.fixture(
    params=[lag if lag in _DEFAULT_LAGS else pytest.param(lag, marks=pytest.mark.exhaustive) for lag in LAGS]
)
def lag(request: pytest.FixtureRequest, organization: CreatedOrganization) -> Iterator[IndexLag]:
    """Indexes that lag behind every change after the organization's creation."""
    assert organization.id
    with lag_indexes(request.param) as lag:
        yield lag

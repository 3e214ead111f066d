"""Tests for the selection. The second case of each uses what the first one has left in the process."""

import pytest

from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.local.selection_sample import once_per_process

pytestmark = pytest.mark.xdist_group("sample")
twice = pytest.mark.parametrize("case", [1, 2])


@pytest.fixture(scope="session")
def session_fixture() -> str:
    return once_per_process.called_by_fixture()


def test_alone() -> None:
    assert once_per_process.called_by_one_test()


@twice
def test_fixture(case: int, session_fixture: str) -> None:
    assert session_fixture


@twice
def test_cache(case: int) -> None:
    assert once_per_process.cached_function()


@twice
def test_scenario(case: int, aws: None) -> None:
    assert snapshots.create_or_restore(("sample",), once_per_process.called_by_scenario)


@twice
def test_rejected_request(case: int, api: ApiClient) -> None:
    assert api.post("/public/leads", json={}).errors


def test_failing() -> None:
    pytest.fail("always")

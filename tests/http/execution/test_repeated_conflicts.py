"""A request whose record other requests keep changing is repeated for ten seconds, at most twenty times."""

import time

import pytest

from chalicelib.kernel.execution import pipeline
from tests.harness.api import ApiResponse
from tests.harness.faults import Fault, inject_fault


@pytest.fixture
def rename_during_conflicts(monkeypatch, api, organization):
    """A function that changes a record while every transaction conflicts and each pause takes some seconds.

    It returns the response and the maximum length of each pause, in seconds.
    """

    def rename(seconds_per_pause: float) -> tuple[ApiResponse, list[float]]:
        elapsed_seconds, pauses = [0.0], list[float]()

        def pause(_attempt: int, *, first_seconds: float, max_seconds: float) -> None:
            elapsed_seconds[0] += seconds_per_pause
            pauses.append(round(max_seconds, 2))

        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "_MAX_WAIT_SECONDS", 10)
            patched.setattr(pipeline, "sleep_with_jittered_backoff", pause)
            patched.setattr(time, "monotonic", lambda: elapsed_seconds[0])
            with inject_fault(Fault.CONFLICT, call_name="dynamodb:TransactWriteItems", times=None):
                response = api.patch(organization.path, caller=organization.owner, json={"name": "Renamed"})
        return response, pauses

    return rename


@pytest.mark.parametrize(
    ("seconds_per_pause", "pauses"),
    [(0, [0.64] * 19), (3, [0.64] * 4), (4.8, [0.64, 0.64, 0.4]), (9.8, [0.64, 0.2]), (10, [0.64]), (12, [0.64])],
)
def test_it_ends_after_ten_seconds_or_twenty_attempts(rename_during_conflicts, seconds_per_pause, pauses):
    response, actual_pauses = rename_during_conflicts(seconds_per_pause)
    assert (response.status_and_code, response.headers["Retry-After"]) == ("409 conflict", "1")
    assert actual_pauses == pauses

"""A request whose record other requests keep changing is repeated for ten seconds, at most twenty times."""

import time

import pytest

from chalicelib.kernel.execution import attempts
from tests.harness.faults import Fault, inject_fault


@pytest.mark.parametrize(
    ("seconds_per_pause", "expected_pauses"),
    [(0, [0.64] * 19), (3, [0.64] * 4), (4.8, [0.64, 0.64, 0.4]), (9.8, [0.64, 0.2]), (10, [0.64]), (12, [0.64])],
)
def test_it_ends_after_ten_seconds_or_twenty_attempts(
    api, organization, monkeypatch, seconds_per_pause, expected_pauses
):
    pauses = []
    monkeypatch.setattr(
        attempts, "sleep_with_jittered_backoff", lambda *_, max_seconds, **__: pauses.append(round(max_seconds, 2))
    )
    monkeypatch.setattr(time, "monotonic", lambda: len(pauses) * seconds_per_pause)
    with inject_fault(Fault.CONFLICT, call_name="dynamodb:TransactWriteItems", times=None):
        response = api.patch(organization.path, caller=organization.owner, json={"name": "Renamed"})
    assert (response.status_and_code, response.headers["Retry-After"]) == ("409 conflict", "1")
    assert pauses == expected_pauses

"""Log streams send each entry at least once and in order, whatever happens to their workers."""

from contextlib import suppress
from itertools import chain

import pytest

from chalicelib.features.notifications.log_streams.logic import entry_batches, stream_worker
from chalicelib.kernel.core.problems import Problem
from tests.harness import snapshots
from tests.harness.audit_logs import head_item
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.log_streams import create_log_stream, decode_https_batch
from tests.harness.webhooks import rename_organization


@pytest.fixture
def small_batches(monkeypatch):
    for module in (entry_batches, stream_worker):
        monkeypatch.setattr(module, "MAX_BATCH_ENTRIES", 3)


@pytest.mark.usefixtures("private_targets_allowed", "small_batches")
@pytest.mark.parametrize(
    "fault",
    [
        Fault.DIED_AFTER,
        pytest.param(Fault.DIED_BEFORE, marks=pytest.mark.exhaustive),
        pytest.param(Fault.RESPONSE_LOST, marks=pytest.mark.exhaustive),
    ],
)
def test_a_fault_at_any_call_repeats_at_most_one_batch_and_loses_none(
    fault, api, organization, workers, clock, receiver
):
    stream = create_log_stream(api, organization, {"type": "https", "url": receiver.url}, startAt=1)
    for number in range(4):
        rename_organization(api, organization, f"Looms {number}")
    snapshot, at, failed = snapshots.take_snapshot(), 1, True
    while failed:
        snapshots.restore_snapshot(snapshot)
        receiver.requests.clear()
        clock.shift(seconds=stream_worker.LEASE_SECONDS)
        with inject_fault(fault, first_call=at) as injected, suppress(ProcessDied, Problem):
            workers.run_sweep()
            workers.try_deliver()
        failed = injected.failed_call is not None
        for _ in range(3):
            clock.shift(seconds=stream_worker.LEASE_SECONDS + 1)
            workers.run_until_idle()
        batches = [[entry["sequence"] for entry in decode_https_batch(request)] for request in receiver.requests]
        distinct = [batch for number, batch in enumerate(batches) if batch not in batches[:number]]
        assert len(batches) - len(distinct) <= 1, (at, injected.failed_call, batches)
        expected = [*range(1, head_item(organization)["size"] + 1)]
        assert [*chain.from_iterable(distinct)] == expected, (at, injected.failed_call)
        assert stream.progress.due_at is None
        at += 1
    assert at > 10

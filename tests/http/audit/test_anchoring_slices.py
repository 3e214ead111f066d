"""Anchoring verifies a long log in slices, and stores its position in the head of the log."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chalicelib.features.audit.log import tasks
from chalicelib.features.audit.log.logic.entry_verification import Fault as VerificationFault
from chalicelib.features.audit.log.logic.entry_verification import VerifiedPrefix
from chalicelib.features.audit.log.logic.log_verification import load_extended_prefix_or_fault
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.work import jobs, queues
from tests.harness import memory_aws
from tests.harness.anchors import anchor_message
from tests.harness.faults import Fault, inject_fault
from tests.harness.log_records import capture_log_records
from tests.harness.sample_entity import create_logged_parcel
from tests.harness.workers import queued_bodies


@pytest.fixture(autouse=True)
def minimal_slices(monkeypatch):
    monkeypatch.setattr(tasks, "WINDOW_ENTRIES", 4)
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)


def test_a_long_log_is_checked_in_slices_each_of_which_continues_where_the_previous_one_ended(log, workers):
    with capture_verified_windows() as windows:
        log.anchor()
    assert windows == [(0, 4), (4, 8), (8, 10)]
    assert (log.anchored_sizes, log.awaits_anchor) == ([10], False)
    assert "anchoring" not in log.head


def test_a_long_log_is_checked_from_the_start_if_the_progress_is_forged(log):
    for forged in ("made up", "", b"binary", 7):
        log.append()
        log.alter_head(anchoring=forged)
        with capture_verified_windows() as windows:
            log.anchor()
        assert windows[0][0] == (log.anchored_sizes[1:] or [0])[0], forged
        assert log.anchored_sizes[0] == log.head["size"]


def test_anchoring_continues_in_the_next_hour_after_a_chain_ended(log, monkeypatch):
    monkeypatch.setattr(queues, "MAX_CHAIN_TURNS", 1)
    with capture_verified_windows() as windows, capture_log_records() as records:
        for _ in range(3):
            assert log.awaits_anchor
            log.anchor()
    assert windows == [(0, 4), (4, 8), (8, 10)]
    assert [record["operation"] for record in records if "chainEnded" in record] == ["audit.anchor"] * 2
    assert (log.anchored_sizes, log.awaits_anchor, queued_bodies("jobs")) == ([10], False, [])


def test_anchoring_continues_in_the_next_hour_if_the_queue_is_unavailable(log, workers):
    workers.run_hourly_anchoring()
    with inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None):
        assert len(workers.try_deliver().failed_bodies) == 1
    with capture_verified_windows() as windows:
        log.anchor()
    assert windows[0] == (4, 8)
    assert log.anchored_sizes == [10]


def test_anchoring_continues_while_the_log_grows(log, monkeypatch):
    def load_and_append(log_id: str, verified: VerifiedPrefix, until: int) -> VerifiedPrefix | VerificationFault:
        create_logged_parcel(f"until {until}", log_id)
        ledger.append_pending_and_return_longest_wait_ms(log_id)
        return load_extended_prefix_or_fault(log_id, verified, until)

    with monkeypatch.context() as with_growth:
        with_growth.setattr(tasks, "load_extended_prefix_or_fault", load_and_append)
        log.anchor()
    assert (log.anchored_sizes, log.awaits_anchor) == ([12], True)
    log.anchor()
    assert (log.anchored_sizes, log.awaits_anchor) == ([13, 12], False)


def test_a_long_log_is_continued_by_one_of_two_workers(log, workers, monkeypatch):
    def load_after_another_worker(
        log_id: str, verified: VerifiedPrefix, until: int
    ) -> VerifiedPrefix | VerificationFault:
        monkeypatch.setattr(tasks, "load_extended_prefix_or_fault", load_extended_prefix_or_fault)
        tasks.anchor_log(anchor_message(log_id))
        return load_extended_prefix_or_fault(log_id, verified, until)

    monkeypatch.setattr(tasks, "load_extended_prefix_or_fault", load_after_another_worker)
    workers.run_hourly_anchoring()
    with capture_log_records() as records:
        assert len(workers.deliver()) == 3, "the slower worker queues nothing"
    assert len([record for record in records if "contended" in record]) == 1
    assert log.anchored_sizes == [10]


def test_a_long_log_is_checked_with_progress_only_for_the_anchor_that_it_started_from(log, workers, monkeypatch):
    log.anchor()
    earlier = log.head_and_chains()
    log.append(8)
    with monkeypatch.context() as without_queue:
        without_queue.setattr(queues, "enqueue_message", lambda _: None)
        tasks.anchor_log(anchor_message(log.id))
    assert log.head["anchoring"]
    fork = [*(log.entry(sequence) for sequence in range(11, 19)), log.head]
    log.truncate(earlier)
    log.append(2)
    log.anchor()
    assert log.anchored_sizes == [12, 10]
    log.truncate(earlier)
    for item in fork:
        memory_aws.put_item(item)
    log.anchor()
    assert log.anchored_sizes == [12, 10]


@contextmanager
def capture_verified_windows() -> Iterator[list[tuple[int, int]]]:
    """Collect the ranges of entries that anchoring verifies in the block: the size before, and the size after."""
    windows = list[tuple[int, int]]()

    def load_and_record(log_id: str, verified: VerifiedPrefix, until: int) -> VerifiedPrefix | VerificationFault:
        windows.append((verified.tree.size, until))
        return load_extended_prefix_or_fault(log_id, verified, until)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "load_extended_prefix_or_fault", load_and_record)
        yield windows

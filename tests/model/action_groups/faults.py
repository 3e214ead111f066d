"""Faults and passing time: messages are lost, duplicated or reordered; workers die; clients repeat requests."""

from contextlib import suppress
from copy import copy
from typing import Final

from hypothesis import strategies as st

from chalicelib.kernel.core.problems import Problem
from tests.harness import memory_aws, snapshots
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.model.action_groups import domains, invitations, pages
from tests.model.actions import action, positions
from tests.model.model_run import ENDPOINT_STATES, ModelRun

FAULTS: Final = ("THROTTLED", "TIMED_OUT", "RESPONSE_LOST", "DIED_BEFORE", "DIED_AFTER", "CONFLICT")
PAUSE_SECONDS: Final = 360
"""Longer than any task that the sweep finds can be delayed."""


@action()
def settle(run: ModelRun) -> None:
    run.workers.run_until_idle()


@action(days=st.sampled_from([1 / 24, 1, 1, 7]))
def pass_time(run: ModelRun, days: float) -> None:
    """Let hours or days pass and run the due tasks, unless an organization would be purged."""
    if any(t.fields["status"] == "pending_deletion" for t in run.model.records if t.kind == "organization"):
        return
    run.endpoints.state = "well"
    run_until_idle(run)
    run.pass_time(days=days)
    run_until_idle(run)
    apply_elapsed_time(run)


def run_until_idle(run: ModelRun) -> None:
    """Run the schedule and the workers until the stored items no longer change."""
    before = None
    while (items := snapshots.items_by_key()) != before:
        run.pass_time(seconds=PAUSE_SECONDS)
        run.workers.run_until_idle()
        before = items


def apply_elapsed_time(run: ModelRun) -> None:
    """Apply what passing time changes: scheduled pages, failed domains, expired keys and invitations."""
    for page in run.model.list_existing("page"):
        pages.apply_schedule(run, page)
    for platform in run.model.list_existing("platform"):
        domains.apply_verification_timeout(run, platform)
    for record in run.model.records:
        if record.kind in ("api_key", "service_key") and record.fields["status"] == "active":
            expires_at_seconds = record.internal["expires_at_seconds"]
            if expires_at_seconds is not None and expires_at_seconds <= run.elapsed_seconds:
                record.fields["status"] = "expired"
        is_pending = record.kind == "invitation" and record.fields["status"] == "pending" and record.exists
        if is_pending and invitations.status(run, record) == "expired":
            record.fields["status"], record.has_unseen_version = "expired", True
            run.expect_system_entry(record, f"{record.internal['container'].kind}.invitation.expired")


@action()
def discard_messages(run: ModelRun) -> None:
    memory_aws.discard_queued_messages()


@action()
def duplicate_messages(run: ModelRun) -> None:
    """Duplicate the queued messages, as SQS delivers at least once."""
    for queue in memory_aws.get_queues():
        copies = [copy(message) for message in queue._messages]  # noqa: SLF001
        for number, message in enumerate(copies):
            message.id = f"{message.id}-{number}-again"
        queue._messages.extend(copies)  # noqa: SLF001
    run.workers.try_deliver()


@action()
def reorder_messages(run: ModelRun) -> None:
    """Deliver the queued messages in reverse order, including delayed ones."""
    for queue in memory_aws.get_queues():
        queue._messages.reverse()  # noqa: SLF001
    run.workers.try_deliver(include_delayed=True)


@action(fault=st.sampled_from(FAULTS), at=st.integers(1, 12))
def fail_worker(run: ModelRun, fault: str, at: int) -> None:
    """Let a worker fail or die at one of its AWS calls."""
    with inject_fault(Fault[fault], first_call=at), suppress(ProcessDied, Problem):
        run.workers.try_deliver()


@action(state=st.sampled_from(ENDPOINT_STATES))
def endpoints_become(run: ModelRun, state: str) -> None:
    run.endpoints.state = state


@action(sent=positions)
def repeat_request(run: ModelRun, sent: int) -> None:
    """Repeat a request that had an `Idempotency-Key`."""
    if run.keyed_requests:
        run.repeat(run.keyed_requests[-1 - sent % len(run.keyed_requests)])


@action()
def restart_process(run: ModelRun) -> None:
    """Clear all caches, as in a new process, and keep the stored items and queued messages."""
    state = snapshots.take_snapshot()
    queued_messages = {queue.name: [*queue._messages] for queue in memory_aws.get_queues()}  # noqa: SLF001
    snapshots.restore_snapshot(state)
    for queue in memory_aws.get_queues():
        queue._messages.extend(queued_messages[queue.name])  # noqa: SLF001

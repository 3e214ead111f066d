"""The task that reconciles an organization's records with its log, in slices."""

import time
from typing import Any, Final

from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_metrics
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

MAX_READS_PER_SECOND: Final = 100
"""Items that a reconciliation reads per second, on average. Ten entries of application events count as one."""

_MAX_READS_PER_SLICE: Final = 3_000
CONFIRMATION_DELAY_SECONDS: Final = 60
"""Time before the suspects are checked again: longer than a request in flight takes."""

_GAVE_UP_ERROR: Final = "The comparison could not be finished. Start it again."


@task(
    Reconciliation.task,
    emits={
        "organization.reconciliation.completed": Reconciliation,
        "organization.reconciliation.failed": Reconciliation,
    },
)
def run_reconciliation(message: dict[str, Any]) -> None:
    """Compare the organization's records with its log, and commit the event of the completion or failure.

    A slice makes a limited number of reads. The next one starts after a delay, so that the average stays within
    `MAX_READS_PER_SECOND`, and continues from the stored progress.
    """
    reconciliation = jobs.claim(Reconciliation, message)
    if reconciliation is None:
        return
    if reconciliation.failures > jobs.MAX_FAILURES:
        _end(reconciliation, "failed", error=_GAVE_UP_ERROR)
        return
    walk, ends_at = Walk(reconciliation), jobs.slice_deadline_monotonic()
    if reconciliation.step == "records" and not reconciliation.pending_ranges:
        ledger.append_pending_and_return_longest_wait_ms(reconciliation.organization_id)
    while walk.reader.read_count < _MAX_READS_PER_SLICE and time.monotonic() < ends_at:
        step = walk.reconciliation.step
        if step == "confirmation" and not walk.reconciliation.suspects:
            _end(walk.reconciliation, "completed")
            return
        progress = walk.advance()
        if progress["suspects"] and progress.get("step") == "confirmation" and step != "confirmation":
            jobs.release(walk.reconciliation, delay_seconds=CONFIRMATION_DELAY_SECONDS, **progress)
            return
        walk.reconciliation = jobs.save_progress_and_extend_lease(walk.reconciliation, status="running", **progress)
    jobs.release(
        walk.reconciliation,
        delay_seconds=walk.reader.read_count / MAX_READS_PER_SECOND,
        checked_records=walk.reconciliation.checked_records,
    )


def _end(reconciliation: Reconciliation, status: str, **result: Any) -> None:
    """Store the result, and commit the event. The metric counts the findings, so that an alarm can report them."""
    changes = UnitOfWork(now())
    changes.event(reconciliation, f"organization.reconciliation.{status}", before=reconciliation.as_requested)
    changes.update(
        reconciliation,
        status=status,
        lease_until=None,
        suspects=[],
        pending_ranges=[],
        completed_at=changes.now,
        **result,
    )
    outbox.commit(changes, Origin.system(Reconciliation.task))
    if finding_count := sum(reconciliation.finding_counts.values()):
        add_metrics(ReconciliationFindings=finding_count)

"""The task that verifies all logs, in slices."""

import time
from typing import Any, Final

from chalicelib.features.audit.log_verifications import logic
from chalicelib.features.audit.log_verifications.entities import LogVerification
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_GAVE_UP_ERROR: Final = "The verification could not be finished. Start it again."


@task(
    LogVerification.task,
    emits={
        "system.log_verification.completed": LogVerification,
        "system.log_verification.failed": LogVerification,
    },
)
def run_log_verification(message: dict[str, Any]) -> None:
    """Verify the next logs for a minute, and commit the event of the completion or failure at the end.

    The progress is stored after each step, so an interrupted slice loses one window of a log at most.
    """
    verification = jobs.claim(LogVerification, message)
    if verification is None:
        return
    if verification.failures > jobs.MAX_FAILURES:
        _end(verification, "failed", error=_GAVE_UP_ERROR)
        return
    ends_at, started_at = jobs.slice_deadline_monotonic(), verification.started_at or now()
    while not logic.is_complete(verification) and time.monotonic() < ends_at:
        progress = logic.advance(verification)
        verification = jobs.save_progress_and_extend_lease(
            verification, status="running", started_at=started_at, **progress
        )
    add_fields(verifiedLogs=verification.logs_checked, brokenLogs=verification.failure_count)
    if logic.is_complete(verification):
        _end(verification, "completed")
    else:
        jobs.release(verification, logs_checked=verification.logs_checked)


def _end(verification: LogVerification, status: str, **result: Any) -> None:
    changes = UnitOfWork(now())
    changes.event(verification, f"system.log_verification.{status}", before=verification.as_requested)
    changes.update(
        verification,
        status=status,
        lease_until=None,
        pending_logs=[],
        log_position=None,
        completed_at=changes.now,
        **result,
    )
    outbox.commit(changes, Origin.system(LogVerification.task))

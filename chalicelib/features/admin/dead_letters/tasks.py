"""The task that sends dead letters back to their queue, in slices."""

from typing import Any, Final

from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.features.admin.dead_letters.logic import send_dead_letters_back
from chalicelib.kernel.core.clock import now, timestamp_ms
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_CLOCK_DIFFERENCE_SECONDS: Final = 5
"""How much later SQS may seem to have sent a message that waited before the redrive was requested."""

_GAVE_UP_ERROR: Final = "SQS failed again and again. Start another redrive."


@task(
    DeadLetterRedrive.task,
    emits={
        "system.dead_letter_redrive.completed": DeadLetterRedrive,
        "system.dead_letter_redrive.failed": DeadLetterRedrive,
    },
)
def redrive_dead_letters(message: dict[str, Any]) -> None:
    """Send the messages of a dead-letter queue back, and commit the event of the completion or failure.

    A slice ends after a minute, and the next one continues with the messages that are left.
    """
    redrive = jobs.claim(DeadLetterRedrive, message)
    if redrive is None:
        return
    if redrive.failures > jobs.MAX_FAILURES:
        _end(redrive, "failed", error=_GAVE_UP_ERROR)
        return
    result = send_dead_letters_back(
        redrive.queue,
        redrive.max_messages - redrive.sent,
        timestamp_ms(redrive.created_at) / 1000 + _CLOCK_DIFFERENCE_SECONDS,
        jobs.slice_deadline_monotonic(),
    )
    add_fields(redriven=result.sent, skipped=result.skipped)
    progress = {"sent": redrive.sent + result.sent, "skipped": result.skipped}
    if result.is_complete:
        _end(redrive, "completed", **progress)
    else:
        jobs.release(redrive, status="running", **progress)


def _end(redrive: DeadLetterRedrive, status: str, **result: Any) -> None:
    changes = UnitOfWork(now())
    changes.event(redrive, f"system.dead_letter_redrive.{status}", before=redrive.as_requested)
    changes.update(redrive, status=status, lease_until=None, completed_at=changes.now, **result)
    outbox.commit(changes, Origin.system(DeadLetterRedrive.task))

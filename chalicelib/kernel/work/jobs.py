"""Jobs: work that outlives a request, done in turns by whichever worker takes the next.

A job is a record. Its message says only where it stands; whoever moves `turn_at` holds it until then, and every step
is stored on condition that nobody moved it since. So a message that is lost, doubled or late, and a worker that dies,
change nothing: the job is due again when its turn is over, and goes on with what was kept.
"""

import random
import time
from typing import Any, ClassVar, Final, TypeVar

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, ScheduledTask
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks

LEASE_SECONDS: Final = 180
"""How long a worker holds a job without keeping anything of it."""

MAX_FAILURES: Final = 5
"""Turns that came to nothing before a job should be given up."""

_SLICE_SECONDS: Final = 60
"""How long a worker goes on with one job before others have their turn."""

_PAUSES: Final = (60, 300, 1_800, 7_200, 21_600)
"""Seconds between turns that come to nothing; the last of them from then on."""

_JITTER: Final = 0.2


class Job(Entity):
    """Work in turns. `turn_at`: from when on a worker may take it, None once nothing is left to be done.

    `failures` counts the turns since anything was kept, this one included. `status` is for callers, if there are any.
    """

    task: ClassVar[str]
    version_fields: ClassVar[tuple[str, ...]] = ("version", "turn_at")

    turn_at: str | None = None
    failures: int = 0
    status: str | None = None

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Its next turn."""
        return ScheduledTask(self.task, self.turn_at) if self.turn_at else None


J = TypeVar("J", bound=Job)


def claim(kind: type[J], message: dict[str, Any]) -> J | None:
    """Return the job that a message names, held for this worker; None if it is gone, done or another's just now."""
    job = tasks.load_record(kind, message)
    if job is None or job.turn_at is None or job.turn_at > now():
        return None
    try:
        return _store(job, turn_at=after(now(), seconds=LEASE_SECONDS), failures=job.failures + 1)
    except ConcurrentModification:
        return None


def checkpoint(job: J, changes: UnitOfWork | None = None, **progress: Any) -> J:
    """Store how far a job is, and hold it for longer; `changes` are committed with that or not at all.

    Raises ConcurrentModification if the job is another's by now, or what `changes` are about was changed.
    """
    return _store(job, changes, turn_at=after(now(), seconds=LEASE_SECONDS), failures=0, **progress)


def finish(job: J, changes: UnitOfWork | None = None, **result: Any) -> J:
    """Store what came of a job, which nobody takes again. Raises what `keep` raises."""
    return _store(job, changes, turn_at=None, **result)


def remove(job: Job) -> None:
    """Remove a job that is done and that nobody asks for. Raises ConcurrentModification if it is another's by now."""
    changes = UnitOfWork(now())
    changes.delete(job)
    changes.commit()


def release(job: J, *, seconds: float = 0, **progress: Any) -> J:
    """End the turn, and let the next begin so much later. Raises ConcurrentModification if another worker has it."""
    failures = 0 if progress else job.failures
    passed = _store(job, turn_at=after(now(), seconds=seconds), failures=failures, **progress)
    if not seconds:
        queues.enqueue(job.task, passed.item_key)
    return passed


def retry_later(job: Job) -> None:
    """End a turn that came to nothing, for a reason that passes; each pause is longer than the one before.

    Raises ConcurrentModification if the job is another's by now.
    """
    failures = max(job.failures, 1)  # What was kept in this turn has set them back.
    pause = _PAUSES[min(failures, len(_PAUSES)) - 1]
    release(job, seconds=pause * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311 - jitter is no secret


def slice_ends_at() -> float:
    """Return when a turn that begins now should be over, by `time.monotonic`."""
    return time.monotonic() + _SLICE_SECONDS


def _store(job: J, changes: UnitOfWork | None = None, **changed: Any) -> J:
    changes = changes or UnitOfWork(now())
    if changed.get("status", job.status) != job.status:
        settled = changes.update(job, **changed)  # Callers see it, so it has a version of its own.
    else:
        settled = changes.update_untracked(job, **changed)
    changes.commit()
    return settled

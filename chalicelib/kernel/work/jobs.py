"""Jobs: background work that is longer than one invocation, done in slices by any worker.

A job is a record. Its message contains only the record's key. The worker that moves `lease_until` holds the job until
then, and every step is stored on condition that the lease is unchanged. So lost, repeated and late messages and crashed
workers are harmless: the job is due again when the lease ends, and continues from the stored progress.
"""

import random
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, ScheduledTask
from chalicelib.kernel.storage.log_rules import EXEMPT_WORK, PUBLIC_WORK
from chalicelib.kernel.transactions.record_macs import accepts_unauthenticated_records, mac_state
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks

LEASE_SECONDS: Final = 180
"""Time for which a worker holds a job without storing progress."""

MAX_FAILURES: Final = 5
"""Slices without progress after which a job should be given up."""

_SLICE_SECONDS: Final = 60
"""Duration of a slice, after which other jobs get their turn."""

_RETRY_DELAYS_SECONDS: Final = (60, 300, 1_800, 7_200, 21_600)
"""Delays between slices without progress. The last one is repeated."""

_JITTER: Final = 0.2


class Job(Entity):
    """Work in slices. `lease_until`: when the next worker can claim it, None if it is done.

    `failures` counts the slices since the last progress, including the current one. `status` is shown to callers.
    """

    task: ClassVar[str]
    log_rules = EXEMPT_WORK
    mac_exemption = "Its progress is stored often, also by functions that cannot use the key."
    unauthenticated_fields: ClassVar[Mapping[str, str]] = dict.fromkeys(("lease_until", "failures"), "Progress.")
    attribute_names: ClassVar[Mapping[str, str]] = {"lease_until": "turn_at"}
    version_fields: ClassVar[tuple[str, ...]] = ("version", "lease_until")

    lease_until: str | None = None
    failures: int = 0
    status: str | None = None

    @property
    def attempts(self) -> int:
        """Return how many slices since the last progress have begun. Progress in the current one counts as none."""
        return max(self.failures, 1)

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that starts the next slice."""
        return ScheduledTask(self.task, self.lease_until) if self.lease_until else None


class PublicJob(Job):
    """A job that callers request and see. It has a MAC, because entries and responses contain its result."""

    log_rules = PUBLIC_WORK
    mac_exemption = ""


J = TypeVar("J", bound=Job)


def create_and_enqueue_after_commit(changes: UnitOfWork, job: Job) -> None:
    """Create a job together with `changes`. Its first slice starts after the commit."""
    changes.create(job)
    changes.enqueue_after_commit(job.task, job)


def claim(kind: type[J], message: dict[str, Any]) -> J | None:
    """Return the job in a message, claimed for this worker; None if it is gone, done or held by another worker.

    A job without a valid MAC has more than `MAX_FAILURES` failures, so that it is given up: somebody has changed its
    progress.
    """
    job = tasks.load_record_or_none(kind, message)
    if job is None or job.lease_until is None or job.lease_until > now():
        return None
    try:
        failures = job.failures + 1 if _is_authentic(job) else MAX_FAILURES + 1
        claimed_until = after(now(), seconds=LEASE_SECONDS)
        return _store_job_changes(job, is_claim=True, lease_until=claimed_until, failures=failures)
    except ConcurrentModification:
        return None


def _is_authentic(job: Job) -> bool:
    return (
        bool(job.mac_exemption) or mac_state(job, job.stored_item or {}) == "valid" or accepts_unauthenticated_records()
    )


def save_progress_and_extend_lease(job: J, accompanying_changes: UnitOfWork | None = None, **progress: Any) -> J:
    """Store the progress of a job and extend its lease, in one transaction with `accompanying_changes`.

    Raises ConcurrentModification if another worker holds the job, or if a record in `accompanying_changes` has changed.
    """
    return _store_job_changes(
        job, accompanying_changes, lease_until=after(now(), seconds=LEASE_SECONDS), failures=0, **progress
    )


def finish(job: J, accompanying_changes: UnitOfWork | None = None, **result: Any) -> J:
    """Mark a job as done and store its result. Raises as `save_progress_and_extend_lease` does."""
    return _store_job_changes(job, accompanying_changes, lease_until=None, **result)


def remove(job: Job) -> None:
    """Remove a finished job without a public result. Raises ConcurrentModification if another worker holds it."""
    changes = UnitOfWork(now())
    changes.delete(job)
    changes.commit()


def release(job: J, *, delay_seconds: float = 0, **progress: Any) -> J:
    """End the slice, and start the next one after a delay. Raises ConcurrentModification if another worker holds it."""
    failures = 0 if progress else job.failures
    released = _store_job_changes(job, lease_until=after(now(), seconds=delay_seconds), failures=failures, **progress)
    if not delay_seconds:
        queues.enqueue(job.task, released.item_key)
    return released


def release_with_growing_delay(job: Job) -> None:
    """End a slice without progress after a temporary failure. Delays increase.

    Raises ConcurrentModification if another worker holds the job.
    """
    delay_seconds = _RETRY_DELAYS_SECONDS[min(job.attempts, len(_RETRY_DELAYS_SECONDS)) - 1]
    release(job, delay_seconds=delay_seconds * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311 - jitter is no secret


def slice_deadline_monotonic() -> float:
    """Return when a slice that starts now should end, by `time.monotonic`."""
    return time.monotonic() + _SLICE_SECONDS


def _store_job_changes(
    job: J, accompanying_changes: UnitOfWork | None = None, *, is_claim: bool = False, **changed: Any
) -> J:
    accompanying_changes = accompanying_changes or UnitOfWork(now())
    if changed.get("status", job.status) != job.status:
        stored = accompanying_changes.update(job, **changed)  # Callers see the status, so the version changes.
    else:
        stored = accompanying_changes.update_untracked(job, is_claim=is_claim, **changed)
    accompanying_changes.commit()
    return stored

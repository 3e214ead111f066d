"""The stored record of a redrive of dead letters."""

from typing import Final

from chalicelib.features.admin.dead_letters.models import QueueName, RedriveOut, RedriveStatus
from chalicelib.kernel.storage.entity import Collection
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import Job

MAX_RUNNING_REDRIVES: Final = 4
"""Redrives that can run at the same time."""

_PARTITION: Final = "REDRIVES"


class DeadLetterRedrive(Job):
    """A job that sends the messages of a dead-letter queue back to `queue`.

    `sent` counts the messages sent by all slices, and `skipped` those that the current slice has skipped, because each
    slice receives them again.
    """

    kind, parameter, task = "system.dead_letter_redrive", "redrive_id", "dead_letters.redrive"
    pk, sk = _PARTITION, "R#{id}"
    all_redrives = Collection(_PARTITION, "R#{id}", newest_first=True)
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    quota = Quota(
        "running redrives",
        _PARTITION,
        MAX_RUNNING_REDRIVES,
        lambda redrive: redrive.lease_until is not None,
        "Wait until one has ended.",
    )
    output_model = RedriveOut

    queue: QueueName
    max_messages: int
    status: RedriveStatus = "queued"
    sent: int = 0
    skipped: int = 0
    completed_at: str | None = None
    error: str | None = None

    @property
    def as_requested(self) -> "DeadLetterRedrive":
        """The redrive as it was when it was requested, which is the diff base of its final log entry."""
        return DeadLetterRedrive(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.created_at,
            queue=self.queue,
            max_messages=self.max_messages,
        )

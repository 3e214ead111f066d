"""What is stored of a replay."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.replays.models import DeliveryStatus, ReplayOut, Status
from chalicelib.kernel.storage.entity import Item, Quota
from chalicelib.kernel.work.jobs import Job

MOST_RUNNING: Final = 10


class Replay(Job):
    """The replay of deliveries to a webhook whose events happened from `since` to `until`.

    Those up to `position` are looked through, and `done` of them were asked for once more. `requeued` is what callers
    see. It is kept for as long as a delivery.
    """

    gives_access = True
    kind, parameter, task = "organization.webhook.replay", "replay_id", "replays.run"
    pk, sk = "O#{organization_id}", "R#{webhook_id}#{id}"
    quota = Quota(
        "running replays",
        "O#{organization_id}",
        MOST_RUNNING,
        lambda replay: replay.turn_at is not None,
        "Wait until one has ended.",
    )
    output_model = ReplayOut

    organization_id: str
    webhook_id: str
    since: str
    until: str
    delivery_status: DeliveryStatus | None = None
    status: Status = "queued"
    requeued: int = 0
    done: int = 0
    position: Item | None = None
    error: str | None = None
    ttl: int

    @property
    def wanted(self) -> Sequence[DeliveryStatus]:
        """The statuses of the deliveries that it asks for."""
        return wanted(self.delivery_status)


def wanted(status: DeliveryStatus | None) -> Sequence[DeliveryStatus]:
    """Return the statuses of the deliveries that a replay asks for, by the one that was given."""
    return (status,) if status else ("failed", "skipped")

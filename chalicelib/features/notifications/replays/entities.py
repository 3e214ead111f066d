"""The stored record of a replay."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.replays.models import ReplayOut, ReplayStatus
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import PublicJob

MAX_RUNNING_REPLAYS: Final = 10
"""Maximum number of replays that run at the same time in an organization."""


class Replay(PublicJob):
    """A replay of the deliveries to a webhook whose events occurred from `since` to `until`.

    Deliveries up to `position` are processed, and `done` of them were queued again. `requeued` is the public count. The
    record is stored as long as a delivery. `has_deferred` is whether some of them wait until the webhook responds.
    """

    gives_access = True
    kind, parameter, task = "organization.webhook.replay", "replay_id", "replays.run"
    pk, sk = "O#{organization_id}", "R#{webhook_id}#{id}"
    of_webhook = Collection("O#{organization_id}", "R#{webhook_id}#{id}", newest_first=True)
    quota = Quota(
        "running replays",
        "O#{organization_id}",
        MAX_RUNNING_REPLAYS,
        lambda replay: replay.lease_until is not None,
        "Wait until one has ended.",
    )
    output_model = ReplayOut

    organization_id: str
    webhook_id: str
    since: str
    until: str
    delivery_status: DeliveryStatus | None = None
    status: ReplayStatus = "queued"
    requeued: int = 0
    done: int = 0
    has_deferred: bool = False
    position: Item | None = None
    error: str | None = None
    ttl: int

    @property
    def selected_statuses(self) -> Sequence[DeliveryStatus]:
        """Return the statuses of the deliveries to replay."""
        return status_or_failed_and_skipped(self.delivery_status)


def status_or_failed_and_skipped(status: DeliveryStatus | None) -> Sequence[DeliveryStatus]:
    """Return the statuses of the deliveries to replay. The default is `failed` and `skipped`."""
    return (status,) if status else ("failed", "skipped")

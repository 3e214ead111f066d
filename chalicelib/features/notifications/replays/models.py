"""Request and response models of replays."""

from typing import Literal

from pydantic import Field

from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.kernel.http.fields import DateTime, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, RecordOutput, TimeRange

ReplayStatus = Literal["queued", "running", "completed", "failed"]


class ReplayCreate(TimeRange, Input):
    """The deliveries to replay, selected by the time of their events and by their status.

    Without a status, failed and skipped ones are sent.
    """

    since: DateTime = Field(
        alias="from",
        description="The earliest event time, RFC 3339 with an offset; not after `to`.",
        examples=["2026-11-20T00:00:00.000Z"],
    )
    status: DeliveryStatus | None = Field(
        None,
        description="Only deliveries with this status. The default is failed and skipped deliveries. `pending` selects "
        "deliveries that wait for their next attempt, and sends them at once.",
        examples=["failed"],
    )


class ReplayOut(RecordOutput):
    """A replay of deliveries, oldest first, after an outage of the receiver.

    `requeued` counts the deliveries that it sends again.
    """

    webhook_id: Uuid
    status: ReplayStatus = Field(examples=["completed"])
    since: Timestamp = Field(serialization_alias="from")
    until: Timestamp = Field(serialization_alias="to", description="The default is the time of the request.")
    delivery_status: DeliveryStatus | None = Field(
        description="Null stands for failed and skipped deliveries.", examples=["failed"]
    )
    requeued: int = Field(
        ge=0,
        description="The number of matching deliveries, a lower bound if there are very many. Once the replay has "
        "ended, the number of deliveries that it queued, or that were queued already. With the status `pending` or "
        "`succeeded` and without `to`, it can include the delivery of the replay's own event.",
        examples=[12],
    )
    error: str | None = Field(description="Why the replay failed.", examples=[None])

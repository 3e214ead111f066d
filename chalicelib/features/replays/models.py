"""What the operations on replays accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import DateTime, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, RecordOutput, TimeRange

DeliveryStatus = Literal["failed", "skipped", "succeeded"]
Status = Literal["queued", "running", "completed", "failed"]


class ReplayCreate(TimeRange, Input):
    """Which deliveries are made once more, by when their events happened."""

    since: DateTime = Field(
        alias="from",
        description="The earliest, RFC 3339 with an offset; not after `to`.",
        examples=["2026-11-20T00:00:00.000Z"],
    )
    status: DeliveryStatus | None = Field(
        None,
        description="Only deliveries with this status; left out, those that failed or were skipped.",
        examples=["failed"],
    )


class ReplayOut(RecordOutput):
    """A replay: it asks for each delivery once more, the oldest first."""

    webhook_id: Uuid
    status: Status = Field(examples=["completed"])
    since: Timestamp = Field(serialization_alias="from")
    until: Timestamp = Field(serialization_alias="to", description="If none was given, when the replay was asked for.")
    delivery_status: DeliveryStatus | None = Field(
        description="Null: those that failed or were skipped.", examples=["failed"]
    )
    requeued: int = Field(
        ge=0,
        description="Deliveries that were found, of very many at least so many; once the replay has ended, "
        "those that were queued.",
        examples=[12],
    )
    error: str | None = Field(description="Why it failed.", examples=[None])

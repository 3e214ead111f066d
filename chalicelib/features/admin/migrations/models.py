"""What callers see of migrations."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Output, SmallListQuery

State = Literal["pending", "applied", "failed"]


class MigrationsQuery(SmallListQuery):
    """Which part of the migrations."""


class MigrationOut(Output):
    """A migration, and what has come of it."""

    id: str = Field(description="They are applied in the order of their ids.", examples=["0001-reference-data"])
    description: str = Field(examples=["Load countries, currencies, languages, time zones and cities."])
    state: State = Field(
        description="`failed` is tried again by the next run; of an applied one it says that its checksum has changed.",
        examples=["applied"],
    )
    applied_at: Timestamp | None
    duration_ms: int | None = Field(description="How long its steps took, all runs together.", examples=[812])
    checksum: str = Field(description="SHA-256 of what it does, in hexadecimal.", examples=["9f" * 32])
    error: str | None = Field(description="Why it failed, and what to do.", examples=[None])


class MigrationsHealth(Output):
    """Whether everything is applied."""

    content_etag = True

    healthy: bool = Field(description="Whether nothing is pending and nothing failed.", examples=[True])
    pending: int = Field(examples=[0])
    failed: int = Field(examples=[0])

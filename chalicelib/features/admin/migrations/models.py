"""Responses of the operations on migrations."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Output, SmallListQuery

MigrationState = Literal["pending", "applied", "failed"]


class MigrationsQuery(SmallListQuery):
    """Which part of the migrations to list."""


class MigrationOut(Output):
    """A change of the table's contents that a release needs, and its state.

    Operators apply pending ones by a deployment.
    """

    id: str = Field(description="Migrations are applied in the order of their ids.", examples=["0001-reference-data"])
    description: str = Field(examples=["Load countries, currencies, languages, time zones and cities."])
    state: MigrationState = Field(
        description="The next run retries `failed`. An applied migration is `failed` if its checksum has changed.",
        examples=["applied"],
    )
    applied_at: Timestamp | None
    duration_ms: int | None = Field(description="Duration of its steps in all runs together.", examples=[812])
    checksum: str = Field(description="SHA-256 of its code and data, in hexadecimal.", examples=["9f" * 32])
    error: str | None = Field(description="Why it failed, and what to do.", examples=[None])


class MigrationsHealth(Output):
    """Whether all migrations are applied, with the numbers of those that are not.

    Nothing else about them is public.
    """

    content_etag = True

    healthy: bool = Field(description="Whether nothing is pending and nothing failed.", examples=[True])
    pending: int = Field(examples=[0])
    failed: int = Field(examples=[0])

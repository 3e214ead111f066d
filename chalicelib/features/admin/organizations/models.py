"""Request and response of the search for organizations."""

from pydantic import Field

from chalicelib.features.tenancy.models.organizations import OrganizationStatus
from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import ListQuery, Output


class OrganizationSearchQuery(ListQuery):
    """What to search for. Without `q`, all organizations are listed in the order in which they were created."""

    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="An id, or the beginning of a name or slug. Case and accents do not matter.",
        examples=["analyt"],
    )


class FoundOrganization(Output):
    """An organization as operators find it, with any status.

    Operators see who owns it, and nothing of its contents.
    """

    id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["analytical-engines"])
    company_name: str | None = Field(examples=["Analytical Engines"])
    status: OrganizationStatus = Field(examples=["active"])
    created_at: Timestamp
    owner_id: Uuid = Field(description="The user id of the owner.")
    deleted_at: Timestamp | None = Field(
        description="When its owner deleted it. It is purged 30 days later.", examples=[None]
    )

"""Requests and responses of the operations on organizations."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.tenancy.models.country_codes import require_country_code
from chalicelib.kernel.http.fields import Email, Name, Slug, Text, Timestamp, Uuid, pattern_validator_and_schema
from chalicelib.kernel.http.models import Input, ListQuery, Patch, RecordOutput
from chalicelib.kernel.permissions.roles import Role

CountryCode = Annotated[
    str,
    *pattern_validator_and_schema("^[A-Z]{2}$", "must be two capital letters, such as GB"),
    AfterValidator(require_country_code),
]
OrganizationStatus = Literal["active", "pending_deletion"]

_NOTIFICATIONS_DESCRIPTION: Final = (
    "Whether people get a mail when somebody else changes their role, transfers the ownership to them, or removes them."
)
_DELETED_EXAMPLE: Final = {"status": "pending_deletion", "deletion_due_at": "2026-12-20T09:30:00.000Z"}


class OrganizationCreate(Input):
    """A new organization.

    Only the name is required; the data of the company can be added later.
    """

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug | None = Field(None, description="If omitted, it is derived from the name.", examples=[None])
    company_name: Name | None = Field(None, examples=["Analytical Engines"])
    company_legal_name: Name | None = Field(None, examples=["Analytical Engines Ltd."])
    company_id: Name | None = Field(None, description="Number in the company register.", examples=["01234567"])
    company_country: CountryCode | None = Field(None, description="ISO 3166-1 alpha-2.", examples=["GB"])
    company_address: Text | None = Field(None, examples=["12 St James's Square\nLondon"])
    legal_email: Email | None = Field(None, examples=["legal@example.com"])
    support_email: Email | None = Field(None, examples=["support@example.com"])
    notifications: bool = Field(default=True, description=_NOTIFICATIONS_DESCRIPTION, examples=[True])


class OrganizationPatch(Patch):
    """The fields of an organization that can be changed, such as its name and the data of the company.

    `status` = active restores a deleted organization.
    """

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug = Field(description="The former slug redirects for 90 days.", examples=["analytical-engines"])
    company_name: Name | None = None
    company_legal_name: Name | None = None
    company_id: Name | None = None
    company_country: CountryCode | None = None
    company_address: Text | None = None
    legal_email: Email | None = None
    support_email: Email | None = None
    notifications: bool = Field(default=True, description=_NOTIFICATIONS_DESCRIPTION, examples=[True])
    status: OrganizationStatus = Field("active", examples=["active"])


class OrganizationOut(RecordOutput):
    """A tenant: the company or group to which members, platforms, sites and the audit log belong.

    Nobody outside of it can see its records.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "organization.deleted": _DELETED_EXAMPLE,
        "organization.purged": _DELETED_EXAMPLE,
    }

    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["analytical-engines"])
    company_name: str | None = Field(examples=["Analytical Engines"])
    company_legal_name: str | None = Field(examples=["Analytical Engines Ltd."])
    company_id: str | None = Field(examples=["01234567"])
    company_country: str | None = Field(examples=["GB"])
    company_address: str | None = Field(examples=["12 St James's Square\nLondon"])
    legal_email: str | None = Field(examples=["legal@example.com"])
    support_email: str | None = Field(examples=["support@example.com"])
    notifications: bool = Field(description=_NOTIFICATIONS_DESCRIPTION, examples=[True])
    status: OrganizationStatus = Field(examples=["active"])
    owner_id: Uuid
    deletion_due_at: Timestamp | None = Field(description="When it is purged unless it is restored.", examples=[None])


class OrganizationListItem(OrganizationOut):
    """An organization in the list of the caller's organizations, with the role of the caller.

    A front end uses the role to decide which settings it shows. The service checks the role in each request.
    """

    role: Role | None = Field(
        None, description="The caller's role in it. An API key has the role of its general scopes.", examples=["admin"]
    )


class OrganizationsQuery(ListQuery):
    """Which of the caller's organizations to list."""

    status: OrganizationStatus = Field(
        "active", description="`pending_deletion` lists deleted ones that the caller owns and can restore."
    )

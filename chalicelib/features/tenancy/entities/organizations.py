"""What is stored of an organization."""

from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any, Final

from chalicelib.features.tenancy.models.organizations import OrganizationOut
from chalicelib.kernel.operations.access_rules import DescendantRule, RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import FormerName, Unique

RESTORABLE_DAYS: Final = 30

_TEXTS: Final = ("name", "company_name", "company_legal_name", "company_id", "company_address")
_ADDRESSES: Final = ("legal_email", "support_email")


class Organization(Container):
    """A tenant. While its deletion waits, `deletion_due_at` says for when. It holds who is subscribed to its log.

    `invitation_accepted_at`: when somebody first accepted an invitation to it, or to a platform of its.
    `counted`: whether it counts towards what its owner may own. One from before there was that limit does once it is
    restored or changes hands: its owner has no counter that knows of it, and whoever had more may keep them.
    """

    kind, parameter = "organization", "organization_id"
    pk, sk = "O#{id}", "#"
    by_slug = Unique(
        "organization-slug", "{slug}", error_code="slug_taken", field="slug", former_values_field="former_slugs"
    )
    quota = Quota(
        "organizations of one owner",
        "USER#{owner_digest}",
        "max_owned_organizations",
        lambda organization: organization.counted and not organization.is_deleted,
        advice="Their owner has to delete one, or hand one over to somebody else, first.",
    )
    output_model = OrganizationOut
    child_partition = "F#{id}"

    name: str
    slug: str
    owner_id: str
    former_slugs: list[FormerName] = field(default_factory=list)
    counted: bool = False
    invitation_accepted_at: str | None = None
    status: str = "active"
    deletion_due_at: str | None = None
    company_name: str | None = None
    company_legal_name: str | None = None
    company_id: str | None = None
    company_country: str | None = None
    company_address: str | None = None
    legal_email: str | None = None
    support_email: str | None = None

    @property
    def log(self) -> str:
        """Its own log."""
        return self.id

    @property
    def owner_digest(self) -> str:
        """What stands for its owner where organizations are counted: an erasure leaves nobody's id there."""
        return sha256(f"owner#{self.owner_id}".encode()).hexdigest()[:32]

    @property
    def is_deleted(self) -> bool:
        """Whether it waits for its purge."""
        return self.status != "active"

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Its purge, once it is deleted."""
        return ScheduledTask("organizations.purge", self.deletion_due_at) if self.deletion_due_at else None

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets none of its texts name the person; an address of theirs is no longer its own."""
        named = person.redact_all({name: getattr(self, name) for name in _TEXTS})
        return {**named, **{name: None for name in _ADDRESSES if getattr(self, name) in person.emails}}


def at_organization(
    role: Role,
    *,
    by_slug: bool = False,
    restore_body: Mapping[str, str] | None = None,
    allow_descendant_role: DescendantRule | None = None,
) -> RequireRole:
    """Return the need for a role at the organization that the path names."""
    return RequireRole(
        Organization,
        role,
        by_slug=by_slug,
        restore_body=restore_body or {},
        allow_descendant_role=allow_descendant_role,
    )

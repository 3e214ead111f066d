"""The stored record of an organization."""

from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any, ClassVar, Final

from chalicelib.features.tenancy.models.organizations import OrganizationOut
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.operations.access_rules import AccessPolicy, ContainerLocation, ContainerReference, RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container, Item, ScheduledTask
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.storage.unique_values import FormerName, Unique

RESTORABLE_DAYS: Final = 30
"""Time during which the owner can restore a deleted organization."""

DIRECTORY_PARTITION: Final = "ORGANIZATIONS"
"""Partition of the items that find organizations. Only operators search it."""

ID_KEY_PREFIX: Final = "I#"
WORD_KEY_PREFIX: Final = "W#"

_TEXT_FIELDS: Final = ("name", "company_name", "company_legal_name", "company_id", "company_address")
_EMAIL_FIELDS: Final = ("legal_email", "support_email")


class Organization(Container):
    """A tenant.

    `deletion_due_at` is the time of the purge while the organization is deleted. `invitation_accepted_at` is the time
    at which somebody first accepted an invitation to the organization or to one of its platforms. `counts_toward_quota`
    is false for organizations from before the quota existed, until they are restored or transferred; their owners keep
    them even above the quota.
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
        lambda organization: organization.counts_toward_quota and not organization.is_deleted,
        advice="Their owner has to delete one, or hand one over to somebody else, first.",
    )
    output_model = OrganizationOut
    attribute_names: ClassVar = {"counts_toward_quota": "counted"}
    child_partition = "F#{id}"
    extra_partitions = ("O#{id}#NAMES#M", "O#{id}#NAMES#E", "O#{id}#NAMES#P", "O#{id}#NAMES#W")
    log_rules = LogRules(ended_by=("organization.purged",))
    unauthenticated_fields: ClassVar = {"invitation_accepted_at": "It raises a limit, and concurrent requests set it."}

    name: str
    slug: str
    owner_id: str
    former_slugs: list[FormerName] = field(default_factory=list)
    counts_toward_quota: bool = False
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
    notifications: bool = True

    @property
    def audit_log_id(self) -> str:
        """Return the id of the organization's own log."""
        return self.id

    @property
    def owner_digest(self) -> str:
        """Return the digest of the owner's id for the key of the quota's counter, which erasures do not reach."""
        return sha256(f"owner#{self.owner_id}".encode()).hexdigest()[:32]

    @property
    def is_deleted(self) -> bool:
        """Return whether the organization awaits its purge."""
        return self.status != "active"

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the purge of a deleted organization."""
        return ScheduledTask("organizations.purge", self.deletion_due_at) if self.deletion_due_at else None

    @property
    def word_rows(self) -> tuple[Item, Item]:
        """Return the items that find the organization by its name and by its slug. They can be equal."""
        words = (fold_case_accents_and_spaces(self.name), self.slug)
        name_row, slug_row = (self._directory_row(key_prefix_of_exact_name(WORD_KEY_PREFIX, word)) for word in words)
        return name_row, slug_row

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the items that list the organization, and that find it by its name and slug."""
        return self._directory_row(ID_KEY_PREFIX), *self.word_rows

    def _directory_row(self, key_prefix: str) -> Item:
        return {"pk": DIRECTORY_PARTITION, "sk": key_prefix + self.id, "organization_id": self.id}

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that remove the person from its texts, and their addresses from its contacts."""
        redacted = person.redacted_field_changes({name: getattr(self, name) for name in _TEXT_FIELDS})
        return {**redacted, **{name: None for name in _EMAIL_FIELDS if getattr(self, name) in person.emails}}


def require_organization_role(
    role: Role, *, location: ContainerLocation = ContainerReference.PATH_ID, policy: AccessPolicy | None = None
) -> RequireRole:
    """Return the rule that requires a role in the organization named by the path."""
    return RequireRole(Organization, role, location, policy=policy)

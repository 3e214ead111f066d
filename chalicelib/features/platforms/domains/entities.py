"""The stored custom domain of a platform, and its entry in the domain inventory of the organization."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Protocol

from chalicelib.features.platforms.domains.models import CustomDomainOut, PlatformDomainOut
from chalicelib.features.platforms.models.domain_errors import describe_deadline, describe_domain_error
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ScheduledTask
from chalicelib.kernel.storage.log_rules import DERIVED, LogRules, Removal, entries_about_others
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import Unique

CHECK_TASK: Final = "domains.check"
MAX_PENDING_DAYS: Final = 7
"""Days during which a pending domain is verified repeatedly. Then its verification has failed."""

LAPSE_AFTER_HOURS: Final = 72
"""Time without the ownership record after which a verified domain lapses."""


class PlatformDomain(Entity):
    """The entry of a platform in the domain inventory of its organization.

    Entries are ordered by platform id, a UUIDv7, so they are in the order in which the platforms were created.
    """

    kind = "platform.domain"
    log_rules, mac_exemption = DERIVED, DERIVED.exemption
    pk, sk = "O#{organization_id}", "D#{platform_id}"
    in_organization = Collection("O#{organization_id}", "D#{platform_id}")
    by_status = Facet("O#{organization_id}#D#{verification_status}", "facet1")
    output_model = PlatformDomainOut

    organization_id: str
    platform_id: str
    platform_slug: str
    platform_name: str
    subdomain: str
    custom_domain: str | None = None
    verification_status: str = "none"
    verified_at: str | None = None
    last_checked_at: str | None = None


class PlatformLike(Protocol):
    """The attributes of a platform that its custom domain copies. Avoids an import of the platform entity."""

    @property
    def id(self) -> str:
        """The platform id, which is the id of the custom domain too."""

    @property
    def organization_id(self) -> str:
        """The id of the owning organization."""

    @property
    def slug(self) -> str:
        """The slug, which is the subdomain."""

    @property
    def name(self) -> str:
        """The display name."""

    @property
    def created_at(self) -> str:
        """The creation time."""


class CustomDomain(Entity):
    """The custom domain of a platform. It exists for every platform, has its id, and may hold no domain.

    `records` are the fields of `DnsRecordOut` in snake case. `proof` is the token that the ownership record must
    contain, and `missing_since` is the time since when that record has been missing. The entity writes the entry of
    the organization's inventory, so it copies the slug and name of the platform.
    """

    gives_access = True
    kind, parameter = "platform.custom_domain", "platform_id"
    pk, sk = "P#{platform_id}", "C#D"
    by_domain = Unique(
        "custom-domain",
        "{domain}",
        error_code="",
        field="domain",
        applies_to=lambda custom_domain: custom_domain.status == "verified",
    )
    output_model = CustomDomainOut
    # Observations of DNS are not changes made by a user.
    untracked_fields = Entity.untracked_fields | {
        *("records", "lastCheckedAt", "lastError", "lastErrorDetail", "nextCheckAt", "failsAt")
    }
    version_fields = ("version", "next_check_at", "platform_slug", "platform_name")
    log_rules = LogRules(
        changed_by={
            "platform.created": lambda entry: [CustomDomain.make_item_key(platform_id=entry["target"]["id"])],
            **entries_about_others("platform.updated"),
        },
        removed_by={"platform.deleted": lambda entry: Removal(fields={"platform_id": entry["target"]["id"]})},
    )
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("records", "last_checked_at", "last_error", "next_check_at"), "Observations of DNS, which change often."
    )

    platform_id: str
    organization_id: str
    platform_slug: str
    platform_name: str
    domain: str | None = None
    status: str = "none"
    proof: str | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    pending_since: str | None = None
    verified_at: str | None = None
    missing_since: str | None = None
    last_checked_at: str | None = None
    last_error: str | None = None
    next_check_at: str | None = None

    @classmethod
    def create_unclaimed(cls, platform: PlatformLike) -> "CustomDomain":
        """Return the custom domain of a new platform, without a domain. Created in the platform's transaction."""
        return cls(
            id=platform.id,
            created_at=platform.created_at,
            updated_at=platform.created_at,
            platform_id=platform.id,
            organization_id=platform.organization_id,
            **platform_labels(platform),
        )

    @property
    def audit_log_label(self) -> str:
        """The domain, or the name of the platform if there is none."""
        return self.domain or self.platform_name

    @property
    def last_error_detail(self) -> str | None:
        """What the last check found, what it expected, what to do, and until when; None without an error."""
        if self.last_error is None:
            return None
        error = describe_domain_error(self.last_error, self.domain or "", self.records)
        return f"{error} {describe_deadline(self.status, self.fails_at)}".rstrip()

    @property
    def fails_at(self) -> str | None:
        """The time at which a pending domain fails, or a verified one lapses; None if neither is imminent."""
        if self.status == "pending" and self.pending_since:
            return after(self.pending_since, days=MAX_PENDING_DAYS)
        if self.status == "verified" and self.missing_since:
            return after(self.missing_since, hours=LAPSE_AFTER_HOURS)
        return None

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """The next check of a pending or verified domain."""
        return ScheduledTask(CHECK_TASK, self.next_check_at) if self.next_check_at else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The item of the platform's entry in the inventory of its organization."""
        entry = PlatformDomain(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            version=self.version,
            organization_id=self.organization_id,
            platform_id=self.platform_id,
            platform_slug=self.platform_slug,
            platform_name=self.platform_name,
            subdomain=self.platform_slug,
            custom_domain=self.domain,
            verification_status=self.status,
            verified_at=self.verified_at,
            last_checked_at=self.last_checked_at,
        )
        return (entry.item(),)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the copied platform name with the person's data redacted."""
        return person.redacted_field_changes({"platform_name": self.platform_name})


def platform_labels(platform: PlatformLike) -> dict[str, Any]:
    """Return the fields of a custom domain that copy the slug and name of its platform. Update both together."""
    return {"platform_slug": platform.slug, "platform_name": platform.name}

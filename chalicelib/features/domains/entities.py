"""What is stored of the domains of an organization's platforms."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Protocol

from chalicelib.features.domains.models import CustomDomainOut, PlatformDomainOut
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import Unique

CHECK: Final = "domains.check"


class PlatformDomain(Entity):
    """What an organization's inventory says of one of its platforms and of its domain.

    Platform ids are UUIDv7: the list is in the order the platforms were created.
    """

    kind = "platform.domain"
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


class Named(Protocol):
    """What a custom domain has to know of its platform."""

    @property
    def id(self) -> str:
        """Its id, which is its custom domain's as well."""

    @property
    def organization_id(self) -> str:
        """Whose it is."""

    @property
    def slug(self) -> str:
        """Its subdomain."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def created_at(self) -> str:
        """When it was made."""


class CustomDomain(Entity):
    """The custom domain of a platform, or that it has none: it comes and goes with the platform, and has its id.

    `records`: those of `CustomDomainOut`, by the names of Python. `proof`: what the record that proves the ownership
    has to hold. `missing_since`: since when that was not there. What the organization's inventory says is written with
    it, so it knows what its platform is called.
    """

    gives_access = True
    kind, parameter = "platform.custom_domain", "platform_id"
    pk, sk = "P#{platform_id}", "C#D"
    by_domain = Unique(
        "custom-domain",
        "{domain}",
        error_code="",
        field="domain",
        applies_to=lambda custom: custom.status == "verified",
    )
    output_model = CustomDomainOut
    # What the service sees in DNS is no change that somebody made.
    untracked_fields = Entity.untracked_fields | {"records", "lastCheckedAt", "lastError"}
    version_fields = ("version", "next_check_at", "platform_slug", "platform_name")

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
    def none(cls, platform: Named) -> "CustomDomain":
        """Return that a new platform has none; it is created in the platform's own transaction."""
        return cls(
            id=platform.id,
            created_at=platform.created_at,
            updated_at=platform.created_at,
            platform_id=platform.id,
            organization_id=platform.organization_id,
            **called(platform),
        )

    @property
    def log_label(self) -> str:
        """The domain, or what the platform is called that has none."""
        return self.domain or self.platform_name

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Its next check, while it is pending or verified."""
        return ScheduledTask(CHECK, self.next_check_at) if self.next_check_at else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The platform's entry in the inventory of its organization."""
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

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets the platform's name, as it is known here, not name the person."""
        return person.redact_all({"platform_name": self.platform_name})


def called(platform: Named) -> dict[str, Any]:
    """Return the fields by which a custom domain knows what its platform is called, to be settled when that changes."""
    return {"platform_slug": platform.slug, "platform_name": platform.name}

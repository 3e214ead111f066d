"""Records that grant rights: memberships and API keys."""

from dataclasses import field
from typing import ClassVar

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Collection, Container, Entity


class Membership(Entity):
    """A user's role in a container."""

    gives_access = True

    user_id: str
    role: str


class DescendantMembership(Membership):
    """A user's role in a container that some operations of the parent container accept instead (`RoleInDescendant`)."""

    container_type: ClassVar[type[Container]]
    of_user: ClassVar[Collection]
    """The memberships of a user in all organizations."""

    @classmethod
    def membership_listing_sort_key_prefix(cls, user_id: str) -> str:
        """Return the sort key prefix, in the ancestor's partition, of the items that list a user's memberships."""
        raise NotImplementedError


class Credential(Entity):
    """An API key. `digests` maps the SHA-256 of each secret to its expiry, or None."""

    gives_access = True

    organization_id: str
    name: str
    scopes: list[str]
    digests: dict[str, str | None]
    revoked_at: str | None = None
    expires_at: str | None = None
    allowed_ips: list[str] = field(default_factory=list)
    last_used_at: str | None = None

    @property
    def status(self) -> str:
        """Return `active`, `revoked` or, once `expires_at` has passed, `expired`."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now() else "active"

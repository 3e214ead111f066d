"""Records that grant rights: memberships, and the credentials of programs."""

from dataclasses import field
from typing import Any, ClassVar, Final, Literal, get_args

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.event_patterns import matches_any_pattern
from chalicelib.kernel.storage.entity import Collection, Container, Entity, ItemKey, ScheduledTask
from chalicelib.kernel.storage.key_templates import render_prefix


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


CredentialType = Literal["api_key", "service_key"]
CREDENTIAL_TYPES: Final[tuple[str, ...]] = get_args(CredentialType)
"""The types of actors that are programs."""


class Credential(Entity):
    """The credential of a program: an API key of an organization, or a service key of the deployment.

    `digests` maps the SHA-256 of each secret to its expiry, or None. `hint` shows the end of the current secret.
    `is_live` tells whether the credential counts toward its quota.
    """

    title: ClassVar[str]
    """How problems call such a credential."""
    actor_type: ClassVar[CredentialType]
    """The type of the actor in log entries."""
    expiry_task: ClassVar[str]
    attribute_names: ClassVar = {"is_live": "live"}
    version_fields: ClassVar[tuple[str, ...]] = ("version", "is_live")
    unauthenticated_fields: ClassVar = {
        "last_used_at": "It is written in the background.",
        "is_live": "It counts the key and follows from its other fields.",
    }

    name: str
    scopes: list[str]
    digests: dict[str, str | None]
    hint: str
    created_by: str | None = None
    revoked_at: str | None = None
    expires_at: str | None = None
    allowed_ips: list[str] = field(default_factory=list)
    last_used_at: str | None = None
    is_live: bool = True

    @classmethod
    def id_from_item_key(cls, key: ItemKey) -> str:
        """Return the id of the credential whose record is stored at a key."""
        raise NotImplementedError

    @property
    def status(self) -> str:
        """Return `active`, `revoked` or, once `expires_at` has passed, `expired`."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now() else "active"

    @property
    def former_secrets_until(self) -> str | None:
        """Return when the last of the former secrets ends, or ended; None without any. They end with the key."""
        last_end = max(filter(None, self.digests.values()), default=None)
        return min(last_end, self.expires_at or last_end) if last_end else None

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that runs when the key expires and stops counting toward the quota."""
        return ScheduledTask(self.expiry_task, self.expires_at) if self.is_live and self.expires_at else None

    def revocation_fields(self, timestamp: str) -> dict[str, Any]:
        """Return the fields of a revoked key."""
        return {"revoked_at": timestamp, "is_live": False}


class OrganizationCredential(Credential):
    """An API key, which belongs to one organization."""

    title, actor_type = "API key", "api_key"
    gives_access = True
    pk, sk = "O#{organization_id}", "K#{id}"

    organization_id: str

    @classmethod
    def id_from_item_key(cls, key: ItemKey) -> str:
        """Return the id of the API key whose record is stored at a key."""
        return key[1].removeprefix(render_prefix(cls.sk, {}))


class ServiceCredential(Credential):
    """A service key, which belongs to the deployment. It writes and reads application events in all organizations.

    Only operators create one. Operators get their rights from their token, not from a stored record, so no record is
    checked when a key is created. `types` are the event types to which the key is limited, with patterns such as
    `invoice.*`; None for all types.
    """

    title, actor_type = "service key", "service_key"
    pk, sk = "SERVICE-KEY#{id}", "#"

    types: list[str] | None = None

    @classmethod
    def id_from_item_key(cls, key: ItemKey) -> str:
        """Return the id of the service key whose record is stored at a key."""
        return key[0].removeprefix(render_prefix(cls.pk, {}))

    def allows_event_type(self, event_type: str) -> bool:
        """Return whether the key may write and read application events of a type."""
        return self.types is None or matches_any_pattern(self.types, event_type)

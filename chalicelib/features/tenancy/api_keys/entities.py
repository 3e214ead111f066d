"""What is stored of an API key: never the secret, only its SHA-256."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.features.tenancy.api_keys.models import ApiKeyOut, Reason
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity.auth import key_pointer
from chalicelib.kernel.permissions.grants import Credential
from chalicelib.kernel.storage.entity import Collection, Item, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import Job

MOST_LIVE_KEYS = 100
RESTING = "RESTING-KEY#"
MOST_SECRETS = 5
"""Secrets of one key that work at the same time: each is an action of the transaction that ends them."""


class ApiKey(Credential):
    """An API key of an organization. `live`: it counts towards how many there may be.

    `lineage` are the ids of all whose rights it rests on: the people and keys that made or rotated it, and those that
    these rest on. Keys from before there was any have None, until they are rotated. `keys_mark`: another one each time
    that it makes or rotates a key, so that of that and its own end one sees the other. `revoked_because` and
    `revoked_keys`: see `ApiKeyOut`.
    """

    kind, parameter = "organization.api_key", "api_key_id"
    pk, sk = "O#{organization_id}", "K#{id}"
    in_organization = Collection("O#{organization_id}", "K#{id}")
    quota = Quota("API keys", "O#{organization_id}", MOST_LIVE_KEYS, lambda key: key.live)
    output_model = ApiKeyOut
    version_fields = ("version", "live", "keys_mark")
    computed_fields = frozenset({"revoked_keys"})

    hint: str
    created_by: str | None = None
    live: bool = True
    lineage: list[str] | None = None
    keys_mark: str | None = None
    revoked_because: dict[str, Any] | None = None
    revoked_keys: list[dict[str, str]] | None = None

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """The moment it expires, when it stops counting."""
        return ScheduledTask("api_keys.expire", self.expires_at) if self.live and self.expires_at else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The pointers from its secrets' SHA-256 to it, and as long as it is live, what it rests on."""
        pointers = (key_pointer(digest, self.item_key) for digest in self.digests)
        rests = {
            "pk": self.item_key[0],
            "sk": f"{RESTING}{self.id}",
            "id": self.id,
            "name": self.name,
            "lineage": self.lineage,
            "scopes": self.scopes,
            **({"expires_at": self.expires_at} if self.expires_at else {}),
        }
        return (*pointers, rests) if self.live and self.lineage is not None else tuple(pointers)

    def revoked(self, moment: str, reason: Reason | None = None, cause: str | None = None) -> dict[str, Any]:
        """Return the fields that change when it is revoked: by itself, or because of a user or another key."""
        because = {"revoked_because": {"reason": reason, "id": cause}} if reason else {}
        return {"revoked_at": moment, "live": False, **because}

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets the key no longer name the person, as its creator or in its name."""
        changed: dict[str, Any] = {**person.redact_all({"name": self.name})}
        if self.created_by in person.user_ids:
            changed["created_by"] = None
        if self.lineage and person.user_ids & {*self.lineage}:
            changed["lineage"] = [each for each in self.lineage if each not in person.user_ids]
            changed |= self.revoked(now(), "person_erased") if self.live else {}
        if self.revoked_because and self.revoked_because["id"] in person.user_ids:
            changed["revoked_because"] = {**self.revoked_because, "id": None}
        return changed


class KeyRevocation(Job):
    """Keys of an organization that have ended, more than a transaction can write; `reasons`: why, by their ids.

    As long as they are listed here none of them is let in.
    """

    kind, task = "organization.api_key_revocation", "api_keys.revoke"
    pk, sk = "O#{organization_id}", "ENDING-KEYS"
    ends_access = True

    organization_id: str
    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets no reason name the person."""
        return person.redact_all({"reasons": self.reasons})

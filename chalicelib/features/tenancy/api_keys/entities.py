"""The stored records of API keys. A secret is stored only as its SHA-256."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from chalicelib.features.tenancy.api_keys.models import ApiKeyOut, RevocationReason
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity.auth import build_api_key_pointer
from chalicelib.kernel.permissions.grants import Credential
from chalicelib.kernel.storage.entity import Collection, Item, ScheduledTask
from chalicelib.kernel.storage.log_rules import LogRules, entries_about_others
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import Job

MAX_LIVE_API_KEYS = 100
KEY_DEPENDENCY_PREFIX = "RESTING-KEY#"
MAX_ACTIVE_SECRETS = 5
"""Secrets of one key that work at the same time. Each takes an action of the transaction that revokes the key."""


class ApiKey(Credential):
    """An API key of an organization.

    `is_live` tells whether the key counts toward the quota. `grantor_ids` are the ids of everyone whose rights the key
    depends on: the users and keys that created or rotated it, and their own grantors. It is None for keys from before
    grantors were recorded, until they are rotated. `last_key_issuance_id` changes whenever the key creates or rotates
    another key, so one of two concurrent requests that create a key and revoke its grantor fails. `revoked_because` and
    `revoked_keys` are described in `ApiKeyOut`.
    """

    kind, parameter = "organization.api_key", "api_key_id"
    pk, sk = "O#{organization_id}", "K#{id}"
    in_organization = Collection("O#{organization_id}", "K#{id}")
    quota = Quota("API keys", "O#{organization_id}", MAX_LIVE_API_KEYS, lambda key: key.is_live)
    output_model = ApiKeyOut
    attribute_names: ClassVar = {"is_live": "live", "grantor_ids": "lineage", "last_key_issuance_id": "keys_mark"}
    version_fields = ("version", "is_live", "last_key_issuance_id")
    computed_fields = frozenset({"revoked_keys"})
    log_rules = LogRules(
        changed_by=entries_about_others(
            "organization.api_key.revoked", "organization.member.removed", "organization.member.updated"
        )
    )
    unauthenticated_fields: ClassVar = {
        "last_used_at": "It is written in the background.",
        "is_live": "It counts the key and follows from its other fields.",
        "last_key_issuance_id": "It only makes concurrent requests conflict.",
    }

    hint: str
    created_by: str | None = None
    is_live: bool = True
    grantor_ids: list[str] | None = None
    last_key_issuance_id: str | None = None
    revoked_because: dict[str, Any] | None = None
    revoked_keys: list[dict[str, str]] | None = None

    @property
    def former_secrets_until(self) -> str | None:
        """Return when the last of the former secrets ends, or ended; None without any. They end with the key."""
        last_end = max(filter(None, self.digests.values()), default=None)
        return min(last_end, self.expires_at or last_end) if last_end else None

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that runs when the key expires and stops counting toward the quota."""
        return ScheduledTask("api_keys.expire", self.expires_at) if self.is_live and self.expires_at else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the items that find the key by its secrets' SHA-256 and, of a live key, the item with its grantors."""
        pointers = (build_api_key_pointer(digest, self.item_key) for digest in self.digests)
        dependency = {
            "pk": self.item_key[0],
            "sk": f"{KEY_DEPENDENCY_PREFIX}{self.id}",
            "id": self.id,
            "name": self.name,
            "lineage": self.grantor_ids,
            "scopes": self.scopes,
            **({"expires_at": self.expires_at} if self.expires_at else {}),
        }
        return (*pointers, dependency) if self.is_live and self.grantor_ids is not None else tuple(pointers)

    def revocation_fields(
        self, timestamp: str, reason: RevocationReason | None = None, cause_id: str | None = None
    ) -> dict[str, Any]:
        """Return the fields of a revoked key. `cause_id`: the user or key whose change revoked it, if any."""
        cause = {"revoked_because": {"reason": reason, "id": cause_id}} if reason else {}
        return {"revoked_at": timestamp, "is_live": False, **cause}

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that remove the person as creator and grantor, and from its name."""
        changed: dict[str, Any] = {**person.redacted_field_changes({"name": self.name})}
        if self.created_by in person.user_ids:
            changed["created_by"] = None
        if self.grantor_ids and person.user_ids & {*self.grantor_ids}:
            changed["grantor_ids"] = [each for each in self.grantor_ids if each not in person.user_ids]
            changed |= self.revocation_fields(now(), "person_erased") if self.is_live else {}
        if self.revoked_because and self.revoked_because["id"] in person.user_ids:
            changed["revoked_because"] = {**self.revoked_because, "id": None}
        return changed


class KeyRevocation(Job):
    """The job that revokes the keys that exceed one transaction. `reasons` maps key ids to the reason and its cause.

    Listed keys are denied access.
    """

    kind, task = "organization.api_key_revocation", "api_keys.revoke"
    pk, sk = "O#{organization_id}", "ENDING-KEYS"
    ends_access = True

    organization_id: str
    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that remove the person from the reasons."""
        return person.redacted_field_changes({"reasons": self.reasons})

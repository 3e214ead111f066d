"""The stored records of API keys. A secret is stored only as its SHA-256."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from chalicelib.features.tenancy.api_keys.models import ApiKeyOut, RevocationReason
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity.auth import build_secret_pointers
from chalicelib.kernel.permissions.grants import OrganizationCredential
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.log_rules import LogRules, entries_about_others
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import Job

MAX_LIVE_API_KEYS = 100
KEY_DEPENDENCY_PREFIX = "RESTING-KEY#"


class ApiKey(OrganizationCredential):
    """An API key of an organization.

    `grantor_ids` are the ids of everyone whose rights the key depends on: the users and keys that created or rotated
    it, and their own grantors. It is None for keys from before grantors were recorded, until they are rotated.
    `last_key_issuance_id` changes whenever the key creates or rotates another key, so one of two concurrent requests
    that create a key and revoke its grantor fails. `revoked_because` and `revoked_keys` are described in `ApiKeyOut`.
    """

    kind, parameter = "organization.api_key", "api_key_id"
    expiry_task = "api_keys.expire"
    in_organization = Collection("O#{organization_id}", "K#{id}")
    quota = Quota("API keys", "O#{organization_id}", MAX_LIVE_API_KEYS, lambda key: key.is_live)
    output_model = ApiKeyOut
    attribute_names: ClassVar = {"grantor_ids": "lineage", "last_key_issuance_id": "keys_mark"}
    version_fields = ("version", "is_live", "last_key_issuance_id")
    computed_fields = frozenset({"revoked_keys"})
    log_rules = LogRules(
        changed_by=entries_about_others(
            "organization.api_key.revoked", "organization.member.removed", "organization.member.updated"
        )
    )
    unauthenticated_fields: ClassVar = {
        "last_key_issuance_id": "It only makes concurrent requests conflict.",
    }

    grantor_ids: list[str] | None = None
    last_key_issuance_id: str | None = None
    revoked_because: dict[str, Any] | None = None
    revoked_keys: list[dict[str, str]] | None = None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the items that find the key by its secrets' SHA-256 and, of a live key, the item with its grantors."""
        pointers = build_secret_pointers(self)
        dependency = {
            "pk": self.item_key[0],
            "sk": f"{KEY_DEPENDENCY_PREFIX}{self.id}",
            "id": self.id,
            "name": self.name,
            "lineage": self.grantor_ids,
            "scopes": self.scopes,
            **({"expires_at": self.expires_at} if self.expires_at else {}),
        }
        return (*pointers, dependency) if self.is_live and self.grantor_ids is not None else pointers

    def revocation_fields(
        self, timestamp: str, reason: RevocationReason | None = None, cause_id: str | None = None
    ) -> dict[str, Any]:
        """Return the fields of a revoked key. `cause_id`: the user or key whose change revoked it, if any."""
        cause = {"revoked_because": {"reason": reason, "id": cause_id}} if reason else {}
        return {**super().revocation_fields(timestamp), **cause}

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

"""Revocation of API keys together with the keys and users on which they depend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.features.tenancy.api_keys.entities import KEY_DEPENDENCY_PREFIX, ApiKey, KeyRevocation
from chalicelib.features.tenancy.api_keys.models import RevocationReason
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.identity.auth import organization_pending_revocations_key
from chalicelib.kernel.permissions.roles import ungrantable_scopes
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

MAX_KEYS_PER_TRANSACTION: Final = 30
"""Keys that are revoked in the transaction that ends what they depend on, each with two writes.

The same transaction lists further keys as revoked, which denies them access, and a task revokes them.
"""


@dataclass(frozen=True)
class KeyRevocationPlan:
    """Live keys of an organization that are revoked together. `reasons` maps key ids to the reason and its cause."""

    organization_id: str
    keys: Sequence[Item]
    reasons: dict[str, dict[str, Any]]

    @property
    def revoked_key_summaries(self) -> list[dict[str, str]] | None:
        """Return the keys as log entries and responses list them, or None if there are none."""
        return [{"id": key["id"], "name": key["name"]} for key in self.keys] or None

    def add_revocations_and_return_count(self, changes: UnitOfWork) -> int:
        """Add revocations to a unit of work, and return how many were added.

        Keys above the maximum are listed as revoked, and a task revokes them.
        """
        revoked_now, revoked_later = self.keys[:MAX_KEYS_PER_TRANSACTION], self.keys[MAX_KEYS_PER_TRANSACTION:]
        marker = organization_pending_revocations_key(KeyRevocation.make_item_key(organization_id=self.organization_id))
        item_keys = [ApiKey.make_item_key(organization_id=self.organization_id, id=key["id"]) for key in revoked_now]
        items = table.get_all([*item_keys, *([marker] if revoked_later else [])]) if revoked_now else {}
        for key in (ApiKey.from_item(items[each]) for each in item_keys if each in items):
            if key.is_live:
                cause = self.reasons[key.id]
                changes.update(key, **key.revocation_fields(changes.now, cause["reason"], cause["id"]))
        if revoked_later:
            self._enqueue_remaining_revocations(
                changes, items.get(marker), {key["id"]: self.reasons[key["id"]] for key in revoked_later}
            )
        return len(revoked_now)

    def replace_grantor(self, changes: UnitOfWork, former_grantor_id: str, new_grantor_ids: Sequence[str]) -> None:
        """Replace a user by other grantors of the keys."""
        keys = [ApiKey.make_item_key(organization_id=self.organization_id, id=key["id"]) for key in self.keys]
        for key in map(ApiKey.from_item, table.get_all(keys).values()):
            others = [each for each in key.grantor_ids or () if each != former_grantor_id]
            changes.update(key, touch=True, grantor_ids=[*dict.fromkeys([*others, *new_grantor_ids])])

    def _enqueue_remaining_revocations(
        self, changes: UnitOfWork, listed_revocation_item: Item | None, reasons: dict[str, Any]
    ) -> None:
        """List keys as revoked, in addition to those that are listed already."""
        if listed_revocation_item:
            existing = KeyRevocation.from_item(listed_revocation_item)
            listed = changes.update_untracked(
                existing, reasons={**existing.reasons, **reasons}, lease_until=changes.now
            )
        else:
            new = new_id_and_time_fields(changes.now)
            listed = KeyRevocation(
                **new, organization_id=self.organization_id, reasons=reasons, lease_until=changes.now
            )
            changes.create(listed)
        changes.enqueue_after_commit(KeyRevocation.task, listed)


def plan_dependent_key_revocation(key: ApiKey) -> KeyRevocationPlan:
    """Return the keys to revoke with a key: those that it created or rotated, and the keys that depend on them."""
    if key.last_key_issuance_id is None:
        return KeyRevocationPlan(key.organization_id, (), {})
    dependencies = _list_key_dependency_items(key.organization_id)
    direct_dependents = [each for each in dependencies if key.id in each["lineage"] and each["id"] != key.id]
    return _plan_with_transitive_dependents(
        key.organization_id, dependencies, direct_dependents, "parent_revoked", key.id
    )


def plan_revocation_by_member(
    organization_id: str, user_id: str, still_grantable_scopes: Iterable[str], reason: RevocationReason
) -> KeyRevocationPlan:
    """Return the keys that depend on a user and exceed the scopes that they can grant from now on."""
    dependencies, grantable_scopes = _list_key_dependency_items(organization_id), [*still_grantable_scopes]
    direct_dependents = [
        each
        for each in dependencies
        if user_id in each["lineage"] and ungrantable_scopes(each["scopes"], grantable_scopes)
    ]
    return _plan_with_transitive_dependents(organization_id, dependencies, direct_dependents, reason, user_id)


def _list_key_dependency_items(organization_id: str) -> list[Item]:
    """Return the items with the grantors of an organization's live keys."""
    pk, _ = ApiKey.make_item_key(organization_id=organization_id, id="")
    timestamp = now()
    return [each for each in table.query_all(pk, KEY_DEPENDENCY_PREFIX) if each.get("expires_at", "~") > timestamp]


def _plan_with_transitive_dependents(
    organization_id: str,
    dependencies: list[Item],
    direct_dependents: list[Item],
    reason: RevocationReason,
    cause_id: str,
) -> KeyRevocationPlan:
    """Return a plan with direct dependents and all keys that depend on them."""
    reasons: dict[str, dict[str, Any]] = {key["id"]: {"reason": reason, "id": cause_id} for key in direct_dependents}
    while further_reasons := {
        key["id"]: {"reason": "parent_revoked", "id": next(each for each in key["lineage"] if each in reasons)}
        for key in dependencies
        if key["id"] not in (*reasons, cause_id) and not reasons.keys().isdisjoint(key["lineage"])
    }:
        reasons |= further_reasons
    return KeyRevocationPlan(organization_id, [key for key in dependencies if key["id"] in reasons], reasons)

"""Revoking API keys with what they rest on: the key that made them, or a person who may give less than before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.features.tenancy.api_keys.entities import RESTING, ApiKey, KeyRevocation
from chalicelib.features.tenancy.api_keys.models import Reason
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.identity.auth import ending_keys_key
from chalicelib.kernel.permissions.roles import ungrantable_scopes
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

MOST_AT_ONCE: Final = 30
"""Keys that are revoked in the transaction that ends what they rest on, each by two writes of it. Of more, the others
are listed as ended there, which keeps them out from that moment on, and a task revokes them."""


@dataclass(frozen=True)
class Ending:
    """The live keys of an organization that end together. `reasons`: why, by their ids."""

    organization_id: str
    keys: Sequence[Item]
    reasons: dict[str, dict[str, Any]]

    @property
    def named(self) -> list[dict[str, str]] | None:
        """The keys as an entry and an answer name them; None if there are none."""
        return [{"id": key["id"], "name": key["name"]} for key in self.keys] or None

    def revoke(self, changes: UnitOfWork) -> int:
        """Revoke them with the changes, and return how many of them these hold; the others are listed."""
        at_once, later = self.keys[:MOST_AT_ONCE], self.keys[MOST_AT_ONCE:]
        marker = ending_keys_key(KeyRevocation.make_item_key(organization_id=self.organization_id))
        wanted = [ApiKey.make_item_key(organization_id=self.organization_id, id=key["id"]) for key in at_once]
        read = table.get_all([*wanted, *([marker] if later else [])]) if at_once else {}
        for key in (ApiKey.from_item(read[each]) for each in wanted if each in read):
            if key.live:
                because = self.reasons[key.id]
                changes.update(key, **key.revoked(changes.now, because["reason"], because["id"]))
        if later:
            self._list(changes, read.get(marker), {key["id"]: self.reasons[key["id"]] for key in later})
        return len(at_once)

    def pass_on(self, changes: UnitOfWork, user_id: str, heirs: Sequence[str]) -> None:
        """Let them rest on others in a user's stead."""
        keys = [ApiKey.make_item_key(organization_id=self.organization_id, id=key["id"]) for key in self.keys]
        for key in map(ApiKey.from_item, table.get_all(keys).values()):
            others = [each for each in key.lineage or () if each != user_id]
            changes.update(key, lineage=[*dict.fromkeys([*others, *heirs])])

    def _list(self, changes: UnitOfWork, present: Item | None, reasons: dict[str, Any]) -> None:
        """Let keys be listed as ended, beside those that are listed already."""
        if present:
            before = KeyRevocation.from_item(present)
            listed = changes.update_untracked(before, reasons={**before.reasons, **reasons}, turn_at=changes.now)
        else:
            new = new_record_fields(changes.now)
            listed = KeyRevocation(**new, organization_id=self.organization_id, reasons=reasons, turn_at=changes.now)
            changes.create(listed)
        changes.enqueue_after_commit(KeyRevocation.task, listed)


def ending_with_key(key: ApiKey) -> Ending:
    """Return the keys that end with one: those that it made or rotated, and what rests on them."""
    if key.keys_mark is None:
        return Ending(key.organization_id, (), {})
    listed = _resting(key.organization_id)
    first = [each for each in listed if key.id in each["lineage"] and each["id"] != key.id]
    return _ending(key.organization_id, listed, first, "parent_revoked", key.id)


def ending_with_person(organization_id: str, user_id: str, held: Iterable[str], reason: Reason) -> Ending:
    """Return the keys that rest on a person and exceed the scopes that they may give from now on."""
    listed, given = _resting(organization_id), [*held]
    first = [each for each in listed if user_id in each["lineage"] and ungrantable_scopes(each["scopes"], given)]
    return _ending(organization_id, listed, first, reason, user_id)


def _resting(organization_id: str) -> list[Item]:
    pk, _ = ApiKey.make_item_key(organization_id=organization_id, id="")
    moment = now()
    return [each for each in table.query_all(pk, RESTING) if each.get("expires_at", "~") > moment]


def _ending(organization_id: str, listed: list[Item], first: list[Item], reason: Reason, cause: str) -> Ending:
    """Return the first keys with all that rest on them."""
    reasons: dict[str, dict[str, Any]] = {key["id"]: {"reason": reason, "id": cause} for key in first}
    while more := {
        key["id"]: {"reason": "parent_revoked", "id": next(each for each in key["lineage"] if each in reasons)}
        for key in listed
        if key["id"] not in (*reasons, cause) and not reasons.keys().isdisjoint(key["lineage"])
    }:
        reasons |= more
    return Ending(organization_id, [key for key in listed if key["id"] in reasons], reasons)

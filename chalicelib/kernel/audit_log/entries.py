"""Log entries as the transaction of a mutation writes them. They are also events and outbox messages.

An entry is stored as its canonical bytes, computed once (RFC 8785). Its leaf hash is computed from the same bytes (RFC
6962). A pointer in the partition of the log's head marks the entry as pending. The pointer is due a few seconds later,
so that the sweep finds it if everything else fails.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import rfc8785
from pydantic_core import from_json

from chalicelib.kernel.audit_log.authenticity import make_pending_mac
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage.entity import Entity, Facet, Item, ItemKey, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.writes import Write, put_if_absent_write

APPEND_TASK: Final = "ledger.wake"
"""The scheduled task of a pending entry. It triggers the log's ledger instead of a task function."""

INLINE_BYTES: Final = 4096
"""Longer canonical bytes are stored in a separate item."""

REDRIVE_AFTER_SECONDS: Final = 10
"""Time after a commit or an append at which the sweep triggers the log if work remains."""

_VALUE_BYTES: Final = 4096
_SAFE_INTEGER: Final = 2**53 - 1


def pending_key(log: str, entry_id: str) -> ItemKey:
    """Return the key of the pointer to a pending entry."""
    return f"Q#{log}", entry_id


def body_key(log: str, entry_id: str) -> ItemKey:
    """Return the key of the item with an entry's canonical bytes if they are long."""
    return f"B#{log}", entry_id


def entry_key(log: str, entry_id: str) -> ItemKey:
    """Return the key of an entry."""
    return EntryItem.make_item_key(log_id=log, id=entry_id)


class EntryItem(Entity):
    """A stored entry. A long `body` is in a separate item. The ledger adds the sequence and the entry MAC, `seal`.

    Until then the item has a `link` and a `mac`: see `mac_chains` and `authenticity`. An erased entry has no body,
    actor, target or seal; `erased` is the service's signature of what remains.
    """

    kind, log_rules = "entry", LogRules(exemption="It is an entry of the log itself.")
    mac_exemption = "Entries have MACs of their own."
    pk, sk = "A#{log_id}", "{id}"
    by_target = Facet("A#{log_id}#T#{target}", "facet1")
    by_actor = Facet("A#{log_id}#A#{actor}", "facet2")
    by_type = Facet("A#{log_id}#E#{type}", "facet3")

    log_id: str
    type: str
    target: str | None = None
    actor: str | None = None
    leaf: bytes
    body: bytes | None = None
    erased: bytes | None = None
    sequence: int | None = None
    tree_size: int | None = None
    seal: bytes | None = None

    @classmethod
    def from_canonical_bytes(cls, log: str, body: bytes) -> "EntryItem":
        """Return the entry with these canonical bytes, before the ledger has processed it."""
        content = from_json(body)
        return cls(
            id=content["id"],
            created_at=content["occurredAt"],
            updated_at=content["occurredAt"],
            log_id=log,
            type=content["type"],
            target=str(content["target"]["id"]),
            actor=str(content["actor"]["id"]),
            leaf=leaf_hash(body),
            body=body if len(body) <= INLINE_BYTES else None,
        )


@dataclass(frozen=True)
class Event:
    """An event: what happened, to what, and by whom."""

    id: str
    type: str
    occurred_at: str
    log: str
    actor: Mapping[str, str | None]
    target: Mapping[str, str | None]
    context: Mapping[str, str | None]
    changes: list[dict[str, Any]]
    data: Mapping[str, Any] | None

    def canonical_leaf_bytes(self) -> bytes:
        """Return the leaf data: the canonical JSON of the entry without `sequence` and `integrity`."""
        return canonical_json(
            {
                "id": self.id,
                "type": self.type,
                "occurredAt": self.occurred_at,
                "organizationId": organization_id_from_log(self.log),
                "actor": self.actor,
                "target": self.target,
                "context": self.context,
                "changes": self.changes,
                "data": self.data and {name: value_or_digest_if_long(value) for name, value in self.data.items()},
            }
        )

    def outbox_writes(self, chains: Chains) -> list[Write]:
        """Return the writes that commit the entry. The last one extends a chain.

        The others create the entry, its bytes if they are long, and its pointer. Raises Problem `unavailable` if AWS
        KMS cannot decrypt the key that authenticates it.
        """
        body, link = self.canonical_leaf_bytes(), chains.next_link
        entry = EntryItem.from_canonical_bytes(self.log, body)
        mac = make_pending_mac(self.log, self.id, entry.leaf, link)
        proof = {"link": link.to_bytes(), "mac": mac}
        pk, sk = body_key(self.log, self.id)
        body_items = [] if entry.body else [{"pk": pk, "sk": sk, "body": body}]
        request_attributes = {"requestId": request_id} if (request_id := self.context["requestId"]) else {}
        pending_pointer = (
            build_pending_pointer(self.log, self.id, entry.leaf, proof, self.occurred_at) | request_attributes
        )
        return [
            *map(put_if_absent_write, (entry.item() | proof, *body_items, pending_pointer)),
            chains.extension_write(link, mac),
        ]


def build_pending_pointer(log: str, entry_id: str, leaf: bytes, proof: Mapping[str, Any], timestamp: str) -> Item:
    """Return the pointer to a pending entry. `proof`: the entry's link and MAC."""
    key = pending_key(log, entry_id)
    due = ScheduledTask(APPEND_TASK, after(timestamp, seconds=REDRIVE_AFTER_SECONDS))
    return {"pk": key[0], "sk": key[1], "leaf": leaf, "log": log, **proof, **schedule_attributes(due, key)}


def list_field_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], untracked_fields: frozenset[str]
) -> list[dict[str, Any]]:
    """Return `{field, from, to}` for each changed public field, in the record's order, with removed fields last."""
    return [
        {
            "field": name,
            "from": value_or_digest_if_long(before.get(name)),
            "to": value_or_digest_if_long(after.get(name)),
        }
        for name in {**after, **before}
        if name not in untracked_fields and not json_equal(before.get(name), after.get(name))
    ]


def canonical_json(value: Any) -> bytes:
    """Return canonical JSON (RFC 8785). Integers beyond 2**53 become the nearest double, as JSON allows."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_with_unsafe_integers_as_doubles(value))


def _with_unsafe_integers_as_doubles(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_unsafe_integers_as_doubles(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [_with_unsafe_integers_as_doubles(element) for element in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return float(value)
    return value


def value_or_digest_if_long(value: Any) -> Any:
    """Return a public value as entries contain it: a long one as its digest and size."""
    if value is None or isinstance(value, bool | int | float):
        return value
    data = canonical_json(value)
    return value if len(data) <= _VALUE_BYTES else {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}

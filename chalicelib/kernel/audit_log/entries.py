"""Entry = event = outbox: what a mutation's own transaction writes about it.

The entry is stored as its canonical bytes, made once (RFC 8785); its leaf hash is made of the same bytes (RFC 6962). A
pointer beside the ledger's head says that the entry waits for its sequence; it is due in a few seconds, so that the
sweep finds it if nothing else does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import rfc8785
from pydantic_core import from_json

from chalicelib.kernel.audit_log.authenticity import mac_of
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage.entity import (
    Entity,
    Facet,
    Item,
    ItemKey,
    ScheduledTask,
    organization_id_from_log,
    schedule_attributes,
)
from chalicelib.kernel.storage.writes import Write, put_new

APPEND_TASK: Final = "ledger.wake"
"""What is due of an entry that waits: no task of the queue, but its log's ledger is woken."""

INLINE_BYTES: Final = 4096
"""Canonical bytes above this stand in an item of their own."""

REDRIVE_AFTER_SECONDS: Final = 10
"""How long after a commit, and after an append, the sweep wakes the log if nothing else has done the rest."""

_VALUE_BYTES: Final = 4096
_SAFE_INTEGER: Final = 2**53 - 1


def pending_key(log: str, entry_id: str) -> ItemKey:
    """Return where the pointer to an entry that waits for its sequence stands."""
    return f"Q#{log}", entry_id


def body_key(log: str, entry_id: str) -> ItemKey:
    """Return where an entry's canonical bytes stand if they are many."""
    return f"B#{log}", entry_id


class EntryItem(Entity):
    """An entry as stored: a long `body` stands in an item of its own, sequence and seal come from the ledger.

    Until then it has a `link` and a `mac`: see `chains` and `authenticity`.
    Once erased it has neither body nor actor nor target nor seal; `erased` is the service's signature of what stays.
    """

    kind = "entry"
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
    def of(cls, log: str, body: bytes) -> "EntryItem":
        """Return the entry of these canonical bytes, before the ledger has seen it."""
        said = from_json(body)
        return cls(
            id=said["id"],
            created_at=said["occurredAt"],
            updated_at=said["occurredAt"],
            log_id=log,
            type=said["type"],
            target=str(said["target"]["id"]),
            actor=str(said["actor"]["id"]),
            leaf=leaf_hash(body),
            body=body if len(body) <= INLINE_BYTES else None,
        )


@dataclass(frozen=True)
class Event:
    """What happened, to what, by whom: an entry before it is stored."""

    id: str
    type: str
    occurred_at: str
    log: str
    actor: Mapping[str, str | None]
    target: Mapping[str, str | None]
    context: Mapping[str, str | None]
    changes: list[dict[str, Any]]
    data: Mapping[str, Any] | None

    def canonical(self) -> bytes:
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
                "data": self.data and {name: _short(value) for name, value in self.data.items()},
            }
        )

    def writes(self, chains: Chains) -> list[Write]:
        """Return what the transaction writes: the entry, its bytes if they are many, its pointer, its chain at last.

        Raises Problem `unavailable` if the key that authenticates it is wrapped and can't be unwrapped now.
        """
        body, link = self.canonical(), chains.link
        entry = EntryItem.of(self.log, body)
        mac = mac_of(self.log, self.id, entry.leaf, link)
        proof = {"link": link.packed(), "mac": mac}
        pk, sk = body_key(self.log, self.id)
        long = [] if entry.body else [{"pk": pk, "sk": sk, "body": body}]
        asked_by = {"requestId": asked} if (asked := self.context["requestId"]) else {}
        waits = pointer(self.log, self.id, entry.leaf, proof, self.occurred_at) | asked_by
        return [*map(put_new, (entry.item() | proof, *long, waits)), chains.write(link, mac)]


def pointer(log: str, entry_id: str, leaf: bytes, proof: Mapping[str, Any], moment: str) -> Item:
    """Return the pointer to an entry that waits for its sequence, due some seconds after a moment.

    `proof`: its link and MAC, as the entry has them.
    """
    key = pending_key(log, entry_id)
    due = ScheduledTask(APPEND_TASK, after(moment, seconds=REDRIVE_AFTER_SECONDS))
    return {"pk": key[0], "sk": key[1], "leaf": leaf, "log": log, **proof, **schedule_attributes(due, key)}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], unlogged: frozenset[str]) -> list[dict[str, Any]]:
    """Return `{field, from, to}` for each public field that changed, in the record's order; what is gone comes last."""
    return [
        {"field": name, "from": _short(before.get(name)), "to": _short(now.get(name))}
        for name in {**now, **before}
        if name not in unlogged and not json_equal(before.get(name), now.get(name))
    ]


def canonical_json(value: Any) -> bytes:
    """Return canonical JSON (RFC 8785). Integers beyond 2**53 become the nearest double, as JSON itself allows."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_doubles(value))


def _doubles(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _doubles(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [_doubles(element) for element in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return float(value)
    return value


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    data = canonical_json(value)
    return value if len(data) <= _VALUE_BYTES else {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}

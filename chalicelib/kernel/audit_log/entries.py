"""Log entries as the transaction of a mutation writes them. They are also events and outbox messages.

An entry is stored as its canonical bytes, computed once (RFC 8785). Its leaf hash is computed from the same bytes (RFC
6962). A pointer in the partition of the log's head marks the entry as pending. The pointer is due a few seconds later,
so that the sweep finds it if everything else fails.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import rfc8785
from pydantic_core import from_json

from chalicelib.kernel.audit_log.authenticity import make_pending_mac
from chalicelib.kernel.audit_log.mac_chains import Chains, LinkWithMac
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage.entity import (
    Collection,
    Entity,
    Facet,
    Item,
    ItemKey,
    ScheduledTask,
    schedule_attributes,
)
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.writes import Write, put_if_absent_write

APPEND_TASK: Final = "ledger.wake"
"""The scheduled task of a pending entry. It triggers the log's ledger instead of a task function."""

INLINE_BYTES: Final = 4096
"""Longer canonical bytes of a built-in event are stored in a separate item."""

RECEIVED_AT: Final = "receivedAt"
"""A field that only the entries of application events have."""

REDRIVE_AFTER_SECONDS: Final = 10
"""Time after a commit or an append at which the sweep triggers the log if work remains."""

APPLICATION_ORIGIN: Final = "application"
"""The origin of the entries of application events. Those of built-in events have none."""

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

    `origin` is set for application events only: those that an application reports. Their times are those of the
    receipt. Their body is always in a separate item, so that the ledger, which changes the entry, does not write the
    body again. `target` and `actor` are in lower case, as the filters of lists are. They have an index partition of
    their own for each target, because an application can name any id: their number must not delay those who look for
    the built-in entries about a record.
    """

    kind, log_rules = "entry", LogRules(exemption="It is an entry of the log itself.")
    mac_exemption = "Entries have MACs of their own."
    pk, sk = "A#{log_id}", "{id}"
    by_target = Facet("A#{log_id}#T#{target}", "facet1", without="origin")
    by_origin_and_target = Facet("A#{log_id}#O#{origin}#T#{target}", "facet1")
    by_actor = Facet("A#{log_id}#A#{actor}", "facet2")
    by_type = Facet("A#{log_id}#E#{type}", "facet3")
    by_origin = Collection("A#{log_id}#O#{origin}", "{id}", index="index2", newest_first=True)

    log_id: str
    type: str
    target: str | None = None
    actor: str | None = None
    origin: Literal["application"] | None = None
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
        if RECEIVED_AT in content:
            return cls._from_application_event(log, content, body)
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

    @classmethod
    def _from_application_event(cls, log: str, content: Mapping[str, Any], body: bytes) -> "EntryItem":
        target = content["target"]
        return cls(
            id=content["id"],
            created_at=content[RECEIVED_AT],
            updated_at=content[RECEIVED_AT],
            log_id=log,
            type=content["type"],
            target=target and ascii_lower(str(target["id"])),
            actor=ascii_lower(str(content["actor"]["id"])),
            origin=APPLICATION_ORIGIN,
            leaf=leaf_hash(body),
        )


class LogEvent(ABC):
    """An event as the log records it: a built-in one (`Event`), or one that an application reports."""

    id: str
    type: str
    log: str
    context: Mapping[str, str | None]

    @property
    @abstractmethod
    def received_at(self) -> str:
        """The time by which the log orders and filters the entry."""

    @property
    @abstractmethod
    def leaf_data(self) -> bytes:
        """The canonical JSON of the entry without `sequence` and `integrity`. It is encoded once for all commits."""

    @cached_property
    def entry(self) -> EntryItem:
        """The entry before the ledger has processed it."""
        return EntryItem.from_canonical_bytes(self.log, self.leaf_data)


@dataclass(frozen=True)
class Event(LogEvent):
    """A built-in event: what happened, to what, and by whom."""

    id: str
    type: str
    occurred_at: str
    log: str
    actor: Mapping[str, Any]
    target: Mapping[str, str | None]
    context: Mapping[str, str | None]
    changes: list[dict[str, Any]]
    data: Mapping[str, Any] | None

    @property
    def received_at(self) -> str:
        """The time of the change."""
        return self.occurred_at

    @cached_property
    def leaf_data(self) -> bytes:
        """The leaf data. Long values are replaced by their digests."""
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


def outbox_writes(events: Sequence[LogEvent], chains: Chains) -> list[Write]:
    """Return the writes that commit the entries of events of one log. The last write extends a chain by all of them.

    The others create for each event its entry, its bytes if they are not in the entry, and its pointer. Entries follow
    one another in the chain, so the ledger appends them in the order of `events`. Raises Problem `unavailable` if AWS
    KMS cannot decrypt the key that authenticates them.
    """
    writes, links, link = list[Write](), list[LinkWithMac](), chains.next_link
    for event in events:
        links.append(LinkWithMac(link, make_pending_mac(event.log, event.id, event.entry.leaf, link)))
        writes += map(put_if_absent_write, _outbox_items(event, links[-1]))
        link = links[-1].next_link
    return [*writes, chains.extension_write(links)]


def _outbox_items(event: LogEvent, link: LinkWithMac) -> list[Item]:
    proof = {"link": link.link.to_bytes(), "mac": link.mac}
    pk, sk = body_key(event.log, event.id)
    body_items = [] if event.entry.body else [{"pk": pk, "sk": sk, "body": event.leaf_data}]
    request_attributes = {"requestId": request_id} if (request_id := event.context["requestId"]) else {}
    pointer = build_pending_pointer(event.log, event.id, event.entry.leaf, proof, event.received_at)
    return [event.entry.item() | proof, *body_items, pointer | request_attributes]


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

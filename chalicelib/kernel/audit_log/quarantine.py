"""Quarantine: what lies in a log's outbox and can't be appended is set aside, so that the log goes on without it.

It is moved to `QUARANTINE#<log>`, as JSON of what the table held, for operators to look at; nothing reads it again. As
it may name people, the table removes it after 90 days.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, Literal

from chalicelib.kernel.audit_log.authenticity import is_authentic
from chalicelib.kernel.audit_log.entries import EntryItem, pending_key, pointer
from chalicelib.kernel.core.clock import now, now_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.item_json import to_wire
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

Reason = Literal["not_authentic", "altered_pointer", "no_entry", "sealed_before"]

_MAX_CHARACTERS: Final = 150_000
"""Of what is kept of an item: a pointer and an entry have to fit into one item of the table."""

_MAX_NAMED: Final = 20
_KEPT_SECONDS: Final = 90 * 86_400


def quarantine_key(log: str, quarantined_id: str) -> ItemKey:
    """Return where something stands that was set aside."""
    return f"QUARANTINE#{log}", quarantined_id


def refuse(log: str, pointers: Sequence[Item]) -> int:
    """Set pointers aside that are not authentic, and the entries that they name if these are not either.

    An authentic entry whose pointer was altered gets its pointer back. Returns how many were set aside.
    """
    entries = _entries_of(log, pointers)
    done = 0
    for item in pointers:
        entry = entries.get(_entry_key(log, item))
        if entry is None or "sequence" in entry:
            done += _set_aside(log, item, "not_authentic")
        elif is_authentic(log, entry):
            proof: Item = {name: entry[name] for name in ("link", "mac") if name in entry}
            restored = pointer(log, entry["sk"], entry["leaf"], proof, now())
            done += _set_aside(log, item, "altered_pointer", instead=restored)
        else:
            done += _set_aside(log, item, "not_authentic", entry=entry)
    _tell(pointers, done)
    return done


def refuse_stale(log: str, pointers: Sequence[Item]) -> int:
    """Set authentic pointers aside whose entry is gone, or has its place already; return how many these are.

    Somebody removed the entry, or put an old pointer back. What another worker appends meanwhile stays untouched.
    """
    entries = _entries_of(log, pointers)
    done, stale = 0, list[Item]()
    for item in pointers:
        key = _entry_key(log, item)
        entry = entries.get(key)
        if entry is None:
            gone = Write("ConditionCheck", key, condition="attribute_not_exists(#pk)", names=["pk"])
            stale.append(item)
            done += _set_aside(log, item, "no_entry", check=gone)
        elif "sequence" in entry:
            stale.append(item)
            done += _set_aside(log, item, "sealed_before")
    _tell(stale, done)
    return done


def _tell(pointers: Sequence[Item], done: int) -> None:
    if done:
        add_fields(quarantined=[str(item["sk"])[:100] for item in pointers[:_MAX_NAMED]])
        add_metrics(ForgedEntries=done)


def _set_aside(
    log: str,
    item: Item,
    reason: Reason,
    *,
    entry: Item | None = None,
    instead: Item | None = None,
    check: Write | None = None,
) -> bool:
    """Move a pointer, and an entry with it, in one transaction; return False if another worker was there first."""
    pk, sk = quarantine_key(log, new_id(now()))
    kept: Item = {
        "pk": pk,
        "sk": sk,
        "at": now(),
        "reason": reason,
        "pointer": _text(item),
        **({"entry": _text(entry)} if entry else {}),
        "ttl": now_ms() // 1000 + _KEPT_SECONDS,
    }
    kind: Literal["Put", "Delete"] = "Put" if instead else "Delete"
    writes = [
        Write("Put", (pk, sk), item=kept),
        Write(kind, pending_key(log, item["sk"]), item=instead, condition="attribute_exists(#pk)", names=["pk"]),
    ]
    if entry:
        unsealed = "attribute_exists(#pk) AND attribute_not_exists(#sequence)"
        writes.append(Write("Delete", _entry_key(log, item), condition=unsealed, names=["pk", "sequence"]))
    with suppress(TransactionCancelled):
        table.write_transaction([*writes, *([check] if check else [])])
        return True
    return False


def _entries_of(log: str, pointers: Sequence[Item]) -> Mapping[ItemKey, Item]:
    return table.get_all(_entry_key(log, item) for item in pointers)


def _entry_key(log: str, item: Item) -> ItemKey:
    return EntryItem.make_item_key(log_id=log, id=item["sk"])


def _text(item: Item) -> str:
    """Return an item as JSON in DynamoDB's words; of one that is too long its key, its size and its hash."""
    text = json.dumps(to_wire(item), default=_base64)
    if len(text) <= _MAX_CHARACTERS:
        return text
    digest = sha256(text.encode()).hexdigest()
    return json.dumps({"pk": item["pk"], "sk": item["sk"], "characters": len(text), "sha256": digest})


def _base64(value: Any) -> str:
    return b64encode(value).decode()

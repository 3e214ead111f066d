"""Quarantine of forged items in a log's outbox, so that they do not block the log.

They are moved to `QUARANTINE#<log>` as JSON, for operators to inspect. Nothing else reads them. They may contain
personal data, so the table removes them after 90 days.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Final, Literal

from chalicelib.kernel.audit_log.authenticity import is_authentic_pending_item
from chalicelib.kernel.audit_log.entries import build_pending_pointer, entry_key, pending_key
from chalicelib.kernel.core.clock import now, now_ms
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.item_json import item_to_dynamodb_json
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

QuarantineReason = Literal["not_authentic", "altered_pointer", "no_entry", "sealed_before"]

_MAX_CHARACTERS: Final = 150_000
"""Length of the stored JSON of an item. A pointer and an entry must fit into one item."""

_MAX_LOGGED_KEYS: Final = 20
_RETENTION_SECONDS: Final = 90 * 86_400


def quarantine_key(log: str, quarantined_id: str) -> ItemKey:
    """Return the key of a quarantined item."""
    return f"QUARANTINE#{log}", quarantined_id


def quarantine_forged_and_repair_pointers(log: str, pointers: Sequence[Item]) -> None:
    """Quarantine forged pointers, and their entries if these are forged, too.

    If only the pointer of an authentic entry was altered, it is restored.
    """
    entries = table.get_all(entry_key(log, item["sk"]) for item in pointers)
    moved_count = 0
    for item in pointers:
        entry = entries.get(entry_key(log, item["sk"]))
        if entry is None or "sequence" in entry:
            moved_count += _move_to_quarantine(log, item, "not_authentic")
        elif is_authentic_pending_item(log, entry):
            proof: Item = {name: entry[name] for name in ("link", "mac") if name in entry}
            restored = build_pending_pointer(log, entry["sk"], entry["leaf"], proof, now())
            moved_count += _move_to_quarantine(log, item, "altered_pointer", replacement=restored)
        else:
            moved_count += _move_to_quarantine(log, item, "not_authentic", entry=entry)
    _log_quarantined(pointers, moved_count)


def quarantine_stale(log: str, pointers: Sequence[Item]) -> int:
    """Quarantine authentic pointers whose entry is gone or appended already. Return how many were moved.

    Someone removed the entry, or restored an old pointer. Entries that another worker appends meanwhile stay untouched.
    """
    entries = table.get_all(entry_key(log, item["sk"]) for item in pointers)
    stale_pointers = [
        item for item in pointers if "sequence" in entries.get(entry_key(log, item["sk"]), {"sequence": 0})
    ]
    moved_count = 0
    for item in stale_pointers:
        if (key := entry_key(log, item["sk"])) in entries:
            moved_count += _move_to_quarantine(log, item, "sealed_before")
        else:
            entry_is_missing = Write("ConditionCheck", key, condition="attribute_not_exists(#pk)", names=["pk"])
            moved_count += _move_to_quarantine(log, item, "no_entry", check=entry_is_missing)
    _log_quarantined(stale_pointers, moved_count)
    return moved_count


def _log_quarantined(pointers: Sequence[Item], moved_count: int) -> None:
    if moved_count:
        add_fields(quarantined=[str(item["sk"])[:100] for item in pointers[:_MAX_LOGGED_KEYS]])
        add_metrics(ForgedEntries=moved_count)


def _move_to_quarantine(
    log: str,
    item: Item,
    reason: QuarantineReason,
    *,
    entry: Item | None = None,
    replacement: Item | None = None,
    check: Write | None = None,
) -> bool:
    """Move a pointer, and optionally its entry, in one transaction. Return False if another worker did it first."""
    pk, sk = quarantine_key(log, new_id(now()))
    record: Item = {
        "pk": pk,
        "sk": sk,
        "at": now(),
        "reason": reason,
        "pointer": _to_json_or_digest(item),
        **({"entry": _to_json_or_digest(entry)} if entry else {}),
        "ttl": now_ms() // 1000 + _RETENTION_SECONDS,
    }
    kind: Literal["Put", "Delete"] = "Put" if replacement else "Delete"
    writes = [
        Write("Put", (pk, sk), item=record),
        Write(kind, pending_key(log, item["sk"]), item=replacement, condition="attribute_exists(#pk)", names=["pk"]),
    ]
    if entry:
        is_pending = "attribute_exists(#pk) AND attribute_not_exists(#sequence)"
        writes.append(Write("Delete", entry_key(log, item["sk"]), condition=is_pending, names=["pk", "sequence"]))
    with suppress(TransactionCancelled):
        table.write_transaction([*writes, *([check] if check else [])])
        return True
    return False


def _to_json_or_digest(item: Item) -> str:
    """Return an item as JSON, or the key, length and hash of a long one."""
    text = json.dumps(item_to_dynamodb_json(item), default=to_base64)
    if len(text) <= _MAX_CHARACTERS:
        return text
    digest = sha256(text.encode()).hexdigest()
    return json.dumps({"pk": item["pk"], "sk": item["sk"], "characters": len(text), "sha256": digest})

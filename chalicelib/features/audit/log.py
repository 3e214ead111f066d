"""Reads the audit log: pages by time and filter, and sequenced entries in the order of the log."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.audit.models import EntryFilters
from chalicelib.features.audit.rules import StoredEntry, is_entry
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.authenticity import is_authentic
from chalicelib.kernel.audit_log.entries import EntryItem, body_key, canonical_json
from chalicelib.kernel.audit_log.ledger import sealed_ids, sequence_key
from chalicelib.kernel.core import ids
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Facet, Item, ItemKey, Partition, organization_id_from_log

_FILTERED_PAGE_SIZE: Final = 100
_MAX_LONG_BODIES: Final = 100
_BATCH_SIZE: Final = 100
_INDEX_RETRY_SECONDS: Final = (0.2, 0.5, 1.0)
"""Delays before the retries for an entry that is missing from both the sequence index and the table."""


def holds(wanted: EntryFilters, entry: EntryItem) -> bool:
    """Return whether an entry matches all filters."""
    ids_match = wanted.actor_id in (None, entry.actor) and wanted.target_id in (None, entry.target)
    is_in_range = (wanted.since or "") <= entry.created_at <= (wanted.until or "~")
    if not (ids_match and is_in_range) or wanted.type is None:
        return ids_match and is_in_range
    return entry.type.startswith(wanted.type[:-1]) if wanted.type.endswith("*") else entry.type == wanted.type


def page(
    logs: Sequence[str], wanted: EntryFilters, after: Item | None, limit: int, *, exact: bool = False
) -> tuple[list[EntryItem], Item | None]:
    """Return the newest entries of one or several logs that match, and the position to continue from.

    Runs one Query for each log, in parallel, on the most selective index. With `exact`, it reads the table itself,
    because an index lags. A page that needs further filtering reads at least 100 items. Entries that were altered so
    much that they can't be shown are left out; verification reports them.
    """
    facet = None if exact else _narrowest_index(wanted)
    filter_count = _count_filters(wanted)
    is_fully_indexed = filter_count == 0 or (facet is not None and filter_count == 1)
    key_values = {"type": wanted.type, "actor": wanted.actor_id, "target": wanted.target_id}
    result = table.query_filtered(
        [facet.partition(log_id=log, **key_values) if facet else EntryItem.pk.format(log_id=log) for log in logs],
        lambda item: _passes(logs, wanted, item),
        limit=limit,
        most=limit if is_fully_indexed else max(limit, _FILTERED_PAGE_SIZE),
        after=after,
        **ids.id_range(wanted.since, wanted.until),
    )
    return [EntryItem.from_item(item) for item in result.items], result.last_evaluated_key


def is_by_index(wanted: EntryFilters) -> bool:
    """Return whether an index serves these filters, unless the caller asks for an exact read."""
    return _narrowest_index(wanted) is not None


def as_stored(log: str, wanted: EntryFilters, entries: Iterable[EntryItem]) -> list[EntryItem]:
    """Return the current table version of the entries that still match, because an index lags behind an erasure."""
    items = table.get_all(entry.item_key for entry in entries).values()
    return [EntryItem.from_item(item) for item in items if _passes([log], wanted, item)]


def _passes(logs: Sequence[str], wanted: EntryFilters, item: Item) -> bool:
    is_known = is_entry(item) and item["log_id"] in logs and _is_committed(item["log_id"], item)
    return is_known and holds(wanted, EntryItem.from_item(item))


def _is_committed(log: str, item: Item) -> bool:
    """Return whether an entry is in the tree, or is authentic and will be."""
    return "sequence" in item or waits(log, item)


def _narrowest_index(wanted: EntryFilters) -> Facet | None:
    if wanted.target_id is not None:
        return EntryItem.by_target
    if wanted.actor_id is not None:
        return EntryItem.by_actor
    return EntryItem.by_type if wanted.type and not wanted.type.endswith("*") else None


def _count_filters(wanted: EntryFilters) -> int:
    return sum(value is not None for value in (wanted.type, wanted.actor_id, wanted.target_id))


def lines(entries: Iterable[EntryItem]) -> list[bytes]:
    """Return the entries as JSON for callers; long bodies are loaded from items of their own.

    Entries whose body is missing are left out; verification reports them.
    """
    entries = list(entries)
    long_bodies = _load_long_bodies(body_key(e.log_id, e.id) for e in entries if e.body is None and not e.erased)
    bodies = [(entry, entry.body or long_bodies.get(entry.id)) for entry in entries]
    return [line(entry, body) for entry, body in bodies if body or entry.erased]


def line(entry: EntryItem, body: bytes | None) -> bytes:
    """Return an entry as JSON: its canonical bytes, followed by `sequence` and `integrity`.

    The canonical bytes are spliced in, not parsed and written again, so a reader who cuts the line at `,"sequence":`
    gets the data of the Merkle leaf. An erased entry has no body; its remaining fields and their signature are shown
    instead.
    """
    body = canonical_json(_erased_entry(entry)) if body is None or entry.erased else body
    signed = {"erasureSignature": redaction.redaction_signature(entry)} if entry.erased else {}
    integrity = {"leafHash": entry.leaf.hex(), "treeSize": entry.tree_size, **signed} if entry.sequence else None
    return body[:-1] + b',"sequence":' + to_json(entry.sequence) + b',"integrity":' + to_json(integrity) + b"}"


def _erased_entry(entry: EntryItem) -> dict[str, Any]:
    return {
        "id": entry.id,
        "type": entry.type,
        "occurredAt": entry.created_at,
        "organizationId": organization_id_from_log(entry.log_id),
        "actor": None,
        "target": None,
        "context": None,
        "changes": [],
        "data": None,
        "erased": True,
    }


def sealed(log: str, after: int, until: int, *, fresh: bool = False) -> Iterator[list[StoredEntry]]:
    """Yield the sequenced entries after one sequence and up to another, in chunks that fit into memory.

    Uses the sequence index and, where the index lags, the ledger's batches in the table. An index may show an entry as
    it was before an erasure; `reread` loads every entry from the table. At a gap the last chunk starts with the entry
    after the gap, or is empty at the end of the log.
    """
    retry_delays = iter(_INDEX_RETRY_SECONDS)
    while after < until:
        items = _query_index(log, after, until)
        if consecutive := items[: _dense_prefix_length(log, items, after)] or _load_from_table(log, after, until):
            for chunk in _chunk_by_long_bodies(consecutive):
                yield with_bodies(log, _refetch(chunk) if fresh else chunk)
            after += len(consecutive)
        elif (delay_seconds := next(retry_delays, None)) is not None:
            time.sleep(delay_seconds)  # Entries sequenced before the ledger stored batches are found by the index only.
        else:
            yield with_bodies(log, items[:1])
            return


def _query_index(log: str, after: int, until: int) -> list[Item]:
    (pk, first), (_, last) = sequence_key(log, after + 1), sequence_key(log, until)
    return table.query(Partition(pk, "index1"), since=first, until=last).items


def _load_from_table(log: str, after: int, until: int) -> list[Item]:
    """Return the next consecutive entries, located by the ledger's batches."""
    ids_by_sequence = sealed_ids(log, after, min(until, after + _BATCH_SIZE))
    keys = {
        sequence: EntryItem.make_item_key(log_id=log, id=entry_id) for sequence, entry_id in ids_by_sequence.items()
    }
    items = table.get_all(keys.values())
    consecutive: list[Item] = []
    for sequence, key in keys.items():
        if items.get(key, {}).get("index1sk") != sequence_key(log, sequence)[1]:
            break
        consecutive.append(items[key])
    return consecutive


def _refetch(items: list[Item]) -> list[Item]:
    """Return the table's version of items from an index; items that left the sequence are returned unchanged."""
    stored_items = table.get_all((item["pk"], item["sk"]) for item in items)
    present = {key: item for key, item in stored_items.items() if "index1sk" in item}
    return [present.get((item["pk"], item["sk"]), item) for item in items]


def stored(log: str, after: Item | None, limit: int) -> tuple[list[StoredEntry], Item | None]:
    """Return a page of everything stored for a log, by id, and the position to continue from.

    Reads the table itself, so nothing lags, and entries that someone removed from the sequence or inserted are
    included.
    """
    result = table.query(EntryItem.pk.format(log_id=log), after=after, limit=limit)
    return with_bodies(log, result.items), result.last_evaluated_key


def waits(log: str, item: Item) -> bool:
    """Return whether an entry still waits for its sequence. An entry without a valid MAC never gets one."""
    return "sequence" not in item and is_authentic(log, item)


def with_bodies(log: str, items: list[Item]) -> list[StoredEntry]:
    """Return the entries in these items, with long bodies loaded from items of their own."""
    long_bodies = _load_long_bodies(
        body_key(log, item["sk"]) for item in items if "body" not in item and "erased" not in item
    )
    missing_ids = [item["sk"] for item in items if not {"body", "erased"} & set(item) and item["sk"] not in long_bodies]
    erased = _load_erased(log, missing_ids)
    items = [erased.get(item["sk"], item) for item in items]
    return [StoredEntry(item, item["body"] if "body" in item else long_bodies.get(item["sk"])) for item in items]


def _dense_prefix_length(log: str, items: list[Item], after: int) -> int:
    # Two entries with one sequence are no gap: verification has to see both.
    gaps = (n for n, item in enumerate(items) if item["index1sk"] > sequence_key(log, after + n + 1)[1])
    return next(gaps, len(items))


def _chunk_by_long_bodies(items: list[Item]) -> Iterator[list[Item]]:
    # One Query returns a megabyte of items, but the bodies stored elsewhere can be a hundred times larger.
    start, long = 0, 0
    for end, item in enumerate(items):
        if "body" not in item:
            if long == _MAX_LONG_BODIES:
                yield items[start:end]
                start, long = end, 0
            long += 1
    yield items[start:]


def _load_erased(log: str, ids: Iterable[str]) -> dict[str, Item]:
    # The index lags, so it may return an entry from before its erasure.
    items = table.get_all(EntryItem.make_item_key(log_id=log, id=entry_id) for entry_id in ids)
    return {sk: item for (_, sk), item in items.items() if "erased" in item and "index1sk" in item}


def _load_long_bodies(keys: Iterable[ItemKey]) -> dict[str, bytes]:
    items = table.get_all(keys)
    return {sk: item["body"] for (_, sk), item in items.items() if "body" in item}

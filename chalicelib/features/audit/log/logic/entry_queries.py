"""Queries on audit logs: pages by time and filter, and sequenced entries in the order of the log."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, has_entry_display_attributes
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.authenticity import is_authentic_pending_item
from chalicelib.kernel.audit_log.entries import (
    APPLICATION_ORIGIN,
    EntryItem,
    body_key,
    canonical_json,
    entry_key,
)
from chalicelib.kernel.audit_log.ledger import sequence_index_or_batch_key
from chalicelib.kernel.core import ids
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Facet, Item, ItemKey, Partition
from chalicelib.kernel.storage.log_ids import organization_id_from_log

_FILTERED_PAGE_SIZE: Final = 100
_MAX_LONG_BODIES: Final = 100
_BATCH_SIZE: Final = 100
_MAX_BATCHES: Final = 100
_INDEX_RETRY_SECONDS: Final = (0.2, 0.5, 1.0)
"""Delays before the retries for an entry that is missing from both the sequence index and the table."""


def entry_matches(filters: EntryFilters, entry: EntryItem) -> bool:
    """Return whether an entry matches all filters."""
    ids_match = filters.actor_id in (None, entry.actor) and filters.target_id in (None, entry.target)
    is_in_range = (filters.since or "") <= entry.created_at <= (filters.until or "~")
    is_match = ids_match and is_in_range and filters.origin in (None, entry.origin)
    if not is_match or filters.type is None:
        return is_match
    return entry.type.startswith(filters.type[:-1]) if filters.type.endswith("*") else entry.type == filters.type


def list_entries_newest_first(
    log_ids: Sequence[str],
    filters: EntryFilters,
    after_position: Item | None,
    limit: int,
    *,
    bypass_index: bool = False,
) -> tuple[list[EntryItem], Item | None]:
    """Return the newest entries of one or several logs that match, and the position to continue from.

    Runs one Query for each log, in parallel, on the most selective index; two for a target, whose built-in and
    application events have a partition each. With `bypass_index`, it reads the table itself, because an index lags. A
    page that needs further filtering reads at least 100 items. Entries that were altered so much that they can't be
    shown are omitted. Verification reports them.
    """
    index = None if bypass_index else _narrowest_index(filters)
    filter_count = _non_time_filter_count(filters)
    is_fully_indexed = filter_count == 0 or (index is not None and filter_count == 1)
    result = table.query_matching(
        [partition for log_id in log_ids for partition in _partitions(log_id, filters, index)],
        lambda item: _is_visible_match(log_ids, filters, item),
        limit=limit,
        max_scanned=limit if is_fully_indexed else max(limit, _FILTERED_PAGE_SIZE),
        after=after_position,
        **ids.id_range_query_arguments(filters.since, filters.until),
    )
    return [EntryItem.from_item(item) for item in result.items], result.last_evaluated_key


def has_index_for(filters: EntryFilters) -> bool:
    """Return whether an index serves these filters, unless the caller asks for an exact read."""
    return _narrowest_index(filters) is not None


def refetch_matching_entries(
    log_ids: Sequence[str], filters: EntryFilters, entries: Iterable[EntryItem]
) -> list[EntryItem]:
    """Return the current table version of the entries that still match, because an index lags behind an erasure."""
    items = table.get_all(entry.item_key for entry in entries).values()
    return [EntryItem.from_item(item) for item in items if _is_visible_match(log_ids, filters, item)]


def _is_visible_match(log_ids: Sequence[str], filters: EntryFilters, item: Item) -> bool:
    return is_visible_entry(log_ids, item) and entry_matches(filters, EntryItem.from_item(item))


def is_visible_entry(log_ids: Sequence[str], item: Item) -> bool:
    """Return whether an item is an entry of one of the logs that callers may see."""
    return (
        has_entry_display_attributes(item)
        and item["log_id"] in log_ids
        and _is_in_tree_or_pending(item["log_id"], item)
    )


def _is_in_tree_or_pending(log_id: str, item: Item) -> bool:
    """Return whether an entry is in the tree, or is authentic and will be."""
    return "sequence" in item or is_authentic_pending_entry(log_id, item)


def _partitions(log_id: str, filters: EntryFilters, index: Facet | Collection | None) -> list[str | Partition]:
    """Return the partitions of an index, or of the table, that together contain each matching entry of a log once."""
    if index is None:
        return [EntryItem.pk.format(log_id=log_id)]
    indexes = [index]
    if index is EntryItem.by_target and organization_id_from_log(log_id):  # System logs have no application events.
        indexes.append(EntryItem.by_origin_and_target)
    key_values = {
        "type": filters.type,
        "actor": filters.actor_id,
        "target": filters.target_id,
        "origin": APPLICATION_ORIGIN,
    }
    return [each.partition(log_id=log_id, **key_values) for each in indexes]


def _narrowest_index(filters: EntryFilters) -> Facet | Collection | None:
    if filters.target_id is not None:
        return EntryItem.by_origin_and_target if filters.origin else EntryItem.by_target
    if filters.actor_id is not None:
        return EntryItem.by_actor
    if filters.type and not filters.type.endswith("*"):
        return EntryItem.by_type
    return EntryItem.by_origin if filters.origin else None


def _non_time_filter_count(filters: EntryFilters) -> int:
    """Return the number of filters, without that by origin if the index by target serves it."""
    origin = filters.origin if filters.target_id is None else None
    return sum(value is not None for value in (filters.type, filters.actor_id, filters.target_id, origin))


def load_entries_as_json_bytes(entries: Iterable[EntryItem]) -> list[bytes]:
    """Return the entries as JSON for callers, with long bodies loaded from items of their own.

    Entries whose body is missing are omitted. Verification reports them.
    """
    entries = list(entries)
    body_items = table.get_all(body_key(e.log_id, e.id) for e in entries if e.body is None and not e.erased)
    long_bodies = _bodies_by_id(body_items)
    bodies = [(entry, entry.body or long_bodies.get(entry.id)) for entry in entries]
    return [entry_to_json_bytes(entry, body) for entry, body in bodies if body or entry.erased]


def entry_to_json_bytes(entry: EntryItem, body: bytes | None) -> bytes:
    """Return an entry as JSON: its canonical bytes, followed by `sequence` and `integrity`.

    The canonical bytes are spliced in, not parsed and written again, so a reader who cuts the line at `,"sequence":`
    gets the data of the Merkle leaf. An erased entry has no body. Its remaining fields and their signature are shown
    instead.
    """
    body = canonical_json(_erased_entry_json_object(entry)) if body is None or entry.erased else body
    signature = {"erasureSignature": redaction.stored_redaction_signature_or_none(entry)} if entry.erased else {}
    integrity = {"leafHash": entry.leaf.hex(), "treeSize": entry.tree_size, **signature} if entry.sequence else None
    return body[:-1] + b',"sequence":' + to_json(entry.sequence) + b',"integrity":' + to_json(integrity) + b"}"


def _erased_entry_json_object(entry: EntryItem) -> dict[str, Any]:
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


def iter_sequenced_entry_chunks(
    log_id: str, after_sequence: int, last_sequence: int, *, reread_from_table: bool = False
) -> Iterator[list[StoredEntry]]:
    """Yield the sequenced entries after one sequence and up to another, in chunks that fit into memory.

    Uses the sequence index and, where the index lags, the ledger's batches in the table. An index may show an entry as
    it was before an erasure; `reread_from_table` loads every entry from the table. At a gap the last chunk starts with
    the entry after the gap, or is empty at the end of the log.
    """
    retry_delays = iter(_INDEX_RETRY_SECONDS)
    while after_sequence < last_sequence:
        items = _query_sequence_index(log_id, after_sequence, last_sequence)
        if consecutive := items[
            : _gapless_prefix_length(log_id, items, after_sequence)
        ] or _load_consecutive_from_table(log_id, after_sequence, last_sequence):
            for chunk in _iter_chunks_by_long_bodies(consecutive):
                yield load_stored_entries(log_id, _refetch_sequenced_items(chunk) if reread_from_table else chunk)
            after_sequence += len(consecutive)
        elif (delay_seconds := next(retry_delays, None)) is not None:
            time.sleep(delay_seconds)  # Entries sequenced before the ledger stored batches are found by the index only.
        else:
            yield load_stored_entries(log_id, items[:1])
            return


def _query_sequence_index(log_id: str, after_sequence: int, last_sequence: int) -> list[Item]:
    (pk, first), (_, last) = (
        sequence_index_or_batch_key(log_id, after_sequence + 1),
        sequence_index_or_batch_key(log_id, last_sequence),
    )
    return table.query(Partition(pk, "index1"), since=first, until=last).items


def _load_consecutive_from_table(log_id: str, after_sequence: int, last_sequence: int) -> list[Item]:
    """Return the next consecutive entries, located by the ledger's batches."""
    ids_by_sequence = _find_contiguous_entry_ids_by_sequence(
        log_id, after_sequence, min(last_sequence, after_sequence + _BATCH_SIZE)
    )
    keys = {sequence: entry_key(log_id, entry_id) for sequence, entry_id in ids_by_sequence.items()}
    items = table.get_all(keys.values())
    consecutive: list[Item] = []
    for sequence, key in keys.items():
        if items.get(key, {}).get("index1sk") != sequence_index_or_batch_key(log_id, sequence)[1]:
            break
        consecutive.append(items[key])
    return consecutive


def _find_contiguous_entry_ids_by_sequence(log: str, after_sequence: int, until_sequence: int) -> dict[int, str]:
    """Return the ids of entries in a range of sequences, by sequence, with one consistent query.

    The ids have no gaps, and may end before `until_sequence`. Entries that were appended before batches existed are not
    found.
    """
    pk, first_key = sequence_index_or_batch_key(log, after_sequence + 1)
    ids_by_sequence: dict[int, str] = {}
    for batch in table.query(pk, since=first_key, limit=_MAX_BATCHES).items:
        ids = batch.get("ids")
        if not (isinstance(ids, list) and batch["sk"].isdecimal()):
            break
        first_sequence = int(batch["sk"]) - len(ids) + 1
        if first_sequence > after_sequence + len(ids_by_sequence) + 1:
            break
        ids_by_sequence |= {
            sequence: str(entry_id)
            for sequence, entry_id in enumerate(ids, first_sequence)
            if after_sequence + len(ids_by_sequence) < sequence <= until_sequence
        }
    return ids_by_sequence


def _refetch_sequenced_items(items: list[Item]) -> list[Item]:
    """Return the table's version of items from an index. Those without a sequence in the table stay unchanged."""
    stored_items = table.get_all((item["pk"], item["sk"]) for item in items)
    sequenced = {key: item for key, item in stored_items.items() if "index1sk" in item}
    return [sequenced.get((item["pk"], item["sk"]), item) for item in items]


def list_stored_entries(log_id: str, after_position: Item | None, limit: int) -> tuple[list[StoredEntry], Item | None]:
    """Return a page of everything stored for a log, by id, and the position to continue from.

    Reads the table itself, so nothing lags, and entries that someone removed from the sequence or inserted are
    included.
    """
    result = table.query(EntryItem.pk.format(log_id=log_id), after=after_position, limit=limit)
    return load_stored_entries(log_id, result.items), result.last_evaluated_key


def is_authentic_pending_entry(log_id: str, item: Item) -> bool:
    """Return whether an entry is authentic and has no sequence yet. An entry without a valid MAC never gets one."""
    return "sequence" not in item and is_authentic_pending_item(log_id, item)


def entry_item_keys(log_id: str, entry_id: str) -> list[ItemKey]:
    """Return the keys of the items that can contain an entry: its own and, if that is long, its body's."""
    return [entry_key(log_id, entry_id), body_key(log_id, entry_id)]


def load_stored_entries(
    log_id: str, items: list[Item], *, loaded: Mapping[ItemKey, Item] = MappingProxyType({})
) -> list[StoredEntry]:
    """Return the entries in these items. Long bodies are loaded from items of their own, unless `loaded` has those."""
    body_keys = [body_key(log_id, item["sk"]) for item in items if "body" not in item and "erased" not in item]
    body_items = table.get_all([key for key in body_keys if key not in loaded])
    long_bodies = _bodies_by_id(body_items | {key: loaded[key] for key in body_keys if key in loaded})
    missing_ids = [item["sk"] for item in items if not {"body", "erased"} & set(item) and item["sk"] not in long_bodies]
    erased = _load_erased_entry_items_by_id(log_id, missing_ids)
    items = [erased.get(item["sk"], item) for item in items]
    return [StoredEntry(item, item["body"] if "body" in item else long_bodies.get(item["sk"])) for item in items]


def _gapless_prefix_length(log_id: str, items: list[Item], after_sequence: int) -> int:
    # Two entries with one sequence are no gap: verification has to see both.
    gaps = (
        n
        for n, item in enumerate(items)
        if item["index1sk"] > sequence_index_or_batch_key(log_id, after_sequence + n + 1)[1]
    )
    return next(gaps, len(items))


def _iter_chunks_by_long_bodies(items: list[Item]) -> Iterator[list[Item]]:
    # One Query returns a megabyte of items, but the bodies stored elsewhere can be a hundred times larger.
    start, long_body_count = 0, 0
    for end, item in enumerate(items):
        if "body" not in item:
            if long_body_count == _MAX_LONG_BODIES:
                yield items[start:end]
                start, long_body_count = end, 0
            long_body_count += 1
    yield items[start:]


def _load_erased_entry_items_by_id(log_id: str, entry_ids: Iterable[str]) -> dict[str, Item]:
    # The index lags, so it may return an entry from before its erasure.
    items = table.get_all(entry_key(log_id, entry_id) for entry_id in entry_ids)
    return {sk: item for (_, sk), item in items.items() if "erased" in item and "index1sk" in item}


def _bodies_by_id(items: Mapping[ItemKey, Item]) -> dict[str, bytes]:
    return {sk: item["body"] for (_, sk), item in items.items() if "body" in item}

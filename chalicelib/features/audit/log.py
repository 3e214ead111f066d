"""Reading a log: pages by time and filter, and sealed entries in the order of their sequence."""

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

_SIFTED: Final = 100
_LONG_AT_ONCE: Final = 100
_AT_ONCE: Final = 100
_INDEX_PATIENCE: Final = (0.2, 0.5, 1.0)
"""Seconds to wait, again and again, for an entry that neither the index of sequences nor the table shows."""


def holds(wanted: EntryFilters, entry: EntryItem) -> bool:
    """Return whether an entry passes all that is wanted of it."""
    exact = wanted.actor_id in (None, entry.actor) and wanted.target_id in (None, entry.target)
    in_time = (wanted.since or "") <= entry.created_at <= (wanted.until or "~")
    if not (exact and in_time) or wanted.type is None:
        return exact and in_time
    return entry.type.startswith(wanted.type[:-1]) if wanted.type.endswith("*") else entry.type == wanted.type


def page(
    logs: Sequence[str], wanted: EntryFilters, after: Item | None, limit: int, *, exact: bool = False
) -> tuple[list[EntryItem], Item | None]:
    """Return the newest entries of one log or of several that pass, and where to go on.

    One Query a log, all at once, of the index that narrows best: for as many entries as are wanted, or for a hundred
    where not all that are found pass. An index lags; with `exact` it is the table itself that is looked through. What
    someone altered so far that it can't be shown is left out; verification says where that is.
    """
    facet = None if exact else _facet(wanted)
    filters = _filters(wanted)
    narrowed = filters == 0 or (facet is not None and filters == 1)
    named = {"type": wanted.type, "actor": wanted.actor_id, "target": wanted.target_id}
    found = table.query_filtered(
        [facet.partition(log_id=log, **named) if facet else EntryItem.pk.format(log_id=log) for log in logs],
        lambda item: _passes(logs, wanted, item),
        limit=limit,
        most=limit if narrowed else max(limit, _SIFTED),
        after=after,
        **ids.id_range(wanted.since, wanted.until),
    )
    return [EntryItem.from_item(item) for item in found.items], found.last_evaluated_key


def is_by_index(wanted: EntryFilters) -> bool:
    """Return whether what is wanted is found by an index, unless it is asked for exactly."""
    return _facet(wanted) is not None


def as_stored(log: str, wanted: EntryFilters, entries: Iterable[EntryItem]) -> list[EntryItem]:
    """Return those of a log's entries that pass as the table has them: an index still says what was erased just now."""
    items = table.get_all(entry.item_key for entry in entries).values()
    return [EntryItem.from_item(item) for item in items if _passes([log], wanted, item)]


def _passes(logs: Sequence[str], wanted: EntryFilters, item: Item) -> bool:
    known = is_entry(item) and item["log_id"] in logs and _counts(item["log_id"], item)
    return known and holds(wanted, EntryItem.from_item(item))


def _counts(log: str, item: Item) -> bool:
    """Return whether an entry is in the tree or will be: one that a function of the service has committed."""
    return "sequence" in item or waits(log, item)


def _facet(wanted: EntryFilters) -> Facet | None:
    if wanted.target_id is not None:
        return EntryItem.by_target
    if wanted.actor_id is not None:
        return EntryItem.by_actor
    return EntryItem.by_type if wanted.type and not wanted.type.endswith("*") else None


def _filters(wanted: EntryFilters) -> int:
    return sum(value is not None for value in (wanted.type, wanted.actor_id, wanted.target_id))


def lines(entries: Iterable[EntryItem]) -> list[bytes]:
    """Return the entries as callers see them; bytes that are long are read from the items they have of their own.

    One whose bytes someone removed can't be shown; verification says where that is.
    """
    entries = list(entries)
    long = _long_bodies(body_key(e.log_id, e.id) for e in entries if e.body is None and not e.erased)
    bodies = [(entry, entry.body or long.get(entry.id)) for entry in entries]
    return [line(entry, body) for entry, body in bodies if body or entry.erased]


def line(entry: EntryItem, body: bytes | None) -> bytes:
    """Return an entry as JSON: its canonical bytes, and behind them its place in the tree.

    The bytes are spliced: parsing and writing them again could only change them, and cut off at `,"sequence":` they
    are the leaf's data. Of an erased entry, which has none, what stays is shown, and the signature of it.
    """
    body = canonical_json(_erased(entry)) if body is None or entry.erased else body
    signed = {"erasureSignature": redaction.redaction_signature(entry)} if entry.erased else {}
    integrity = {"leafHash": entry.leaf.hex(), "treeSize": entry.tree_size, **signed} if entry.sequence else None
    return body[:-1] + b',"sequence":' + to_json(entry.sequence) + b',"integrity":' + to_json(integrity) + b"}"


def _erased(entry: EntryItem) -> dict[str, Any]:
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
    """Yield the sealed entries after a sequence and up to another, in lists that can well be held at once.

    They are found by the index of sequences and, where that is behind the log, by the ledger's batches in the table. An
    index shows entries as they were; if they have to be `fresh`, what was erased a moment ago is erased. At a gap the
    last list begins with what stands behind it, or is empty at the end of the log.
    """
    waits = iter(_INDEX_PATIENCE)
    while after < until:
        items = _in_index(log, after, until)
        if dense := items[: _dense(log, items, after)] or _in_table(log, after, until):
            for portion in _portions(dense):
                yield with_bodies(log, _as_stored(portion) if fresh else portion)
            after += len(dense)
        elif (wait := next(waits, None)) is not None:
            time.sleep(wait)  # It may have been sealed before the ledger kept batches, a moment ago.
        else:
            yield with_bodies(log, items[:1])
            return


def _in_index(log: str, after: int, until: int) -> list[Item]:
    (pk, first), (_, last) = sequence_key(log, after + 1), sequence_key(log, until)
    return table.query(Partition(pk, "index1"), since=first, until=last).items


def _in_table(log: str, after: int, until: int) -> list[Item]:
    """Return the next entries that stand in the table where the ledger's batches say."""
    ids = sealed_ids(log, after, min(until, after + _AT_ONCE))
    keys = {sequence: EntryItem.make_item_key(log_id=log, id=entry_id) for sequence, entry_id in ids.items()}
    found = table.get_all(keys.values())
    there: list[Item] = []
    for sequence, key in keys.items():
        if found.get(key, {}).get("index1sk") != sequence_key(log, sequence)[1]:
            break
        there.append(found[key])
    return there


def _as_stored(items: list[Item]) -> list[Item]:
    """Return items of an index as the table holds them now; what has no place there any more as the index has it."""
    found = table.get_all((item["pk"], item["sk"]) for item in items)
    present = {key: item for key, item in found.items() if "index1sk" in item}
    return [present.get((item["pk"], item["sk"]), item) for item in items]


def stored(log: str, after: Item | None, limit: int) -> tuple[list[StoredEntry], Item | None]:
    """Return a page of all that is stored of a log, in the order of its ids, and where to go on.

    It is read from the table itself: here nothing lags, and what someone took out of the sequence, or put there, is
    there as well.
    """
    found = table.query(EntryItem.pk.format(log_id=log), after=after, limit=limit)
    return with_bodies(log, found.items), found.last_evaluated_key


def waits(log: str, item: Item) -> bool:
    """Return whether an entry will get its place: what is neither sealed nor authentic never does."""
    return "sequence" not in item and is_authentic(log, item)


def with_bodies(log: str, items: list[Item]) -> list[StoredEntry]:
    """Return the entries that items hold, with the bytes that stand in items of their own."""
    long = _long_bodies(body_key(log, item["sk"]) for item in items if "body" not in item and "erased" not in item)
    gone = [item["sk"] for item in items if not {"body", "erased"} & set(item) and item["sk"] not in long]
    erased = _erased_by_now(log, gone)
    items = [erased.get(item["sk"], item) for item in items]
    return [StoredEntry(item, item["body"] if "body" in item else long.get(item["sk"])) for item in items]


def _dense(log: str, items: list[Item], after: int) -> int:
    # Two entries at one place are no gap: whoever verifies has to see both.
    gaps = (n for n, item in enumerate(items) if item["index1sk"] > sequence_key(log, after + n + 1)[1])
    return next(gaps, len(items))


def _portions(items: list[Item]) -> Iterator[list[Item]]:
    # A page holds a megabyte of items; what those leave out can be a hundred times that.
    start, long = 0, 0
    for end, item in enumerate(items):
        if "body" not in item:
            if long == _LONG_AT_ONCE:
                yield items[start:end]
                start, long = end, 0
            long += 1
    yield items[start:]


def _erased_by_now(log: str, ids: Iterable[str]) -> dict[str, Item]:
    # The index lags: it can still hold an entry as it was before its text was removed.
    found = table.get_all(EntryItem.make_item_key(log_id=log, id=entry_id) for entry_id in ids)
    return {sk: item for (_, sk), item in found.items() if "erased" in item and "index1sk" in item}


def _long_bodies(keys: Iterable[ItemKey]) -> dict[str, bytes]:
    found = table.get_all(keys)
    return {sk: item["body"] for (_, sk), item in found.items() if "body" in item}

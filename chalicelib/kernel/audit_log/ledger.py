"""The ledger: gives each committed entry its place in its organization's Merkle tree (RFC 6962).

An entry is committed with a pointer beside the log's head. Appending reads the head and the pointers behind it in one
consistent Query, and in one transaction gives the entries their sequence, deletes their pointers and moves the head,
on condition that nobody moved it since. So a message that is lost, doubled or late, and two workers at once, change
nothing. What the functions that commit entries have not put there is set aside: it neither gets a place nor holds up
the log.

The transaction also puts a batch: the ids of the entries that it appended. By batches an entry is found by its sequence
in the table itself, where the index of sequences may be behind.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from chalicelib.kernel.audit_log import quarantine, signed_statements
from chalicelib.kernel.audit_log.authenticity import is_authentic, unauthenticated_count
from chalicelib.kernel.audit_log.entries import APPEND_TASK, REDRIVE_AFTER_SECONDS, EntryItem, pending_key
from chalicelib.kernel.audit_log.entry_macs import make_entry_mac, public_keys, signing_key
from chalicelib.kernel.audit_log.mac_chains import SHARDS, End, links_of, shard_of
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement, Statement
from chalicelib.kernel.core.clock import after, backoff_seconds, now, now_ms
from chalicelib.kernel.core.ids import timestamp_of
from chalicelib.kernel.core.logs import add_fields, add_metrics, add_request_ids
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from chalicelib.kernel.crypto.merkle import HASH_BYTES, CompactRange
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import (
    Item,
    ItemKey,
    Partition,
    ScheduledTask,
    organization_id_from_log,
    schedule_attributes,
)
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

BATCH: Final = (table.MAX_TRANSACT_ITEMS - 2) // 2
"""Entries appended in one transaction: each is two writes, and the head and the batch are one each."""

HEAD: Final = "!"
"""The head's sort key: before that of every pointer."""

_POINTERS: Final = '"'
"""What sorts behind the head and the chains, and before every pointer."""

UNANCHORED_SHARDS: Final = 8
"""Partitions of the index over the heads that grew since they were anchored."""

_MAX_TRIES: Final = 5
_LOOK_AHEAD: Final = 8 * BATCH
"""Pointers that are read to choose from, so that entries come into the tree in the order of their chains."""
_MAX_PAGES: Final = 8
_SETTLING_SECONDS: Final = 0.2
_PAGE: Final = 100
_BATCHES: Final = 100
_AT_MOST_MS: Final = 20_000


class BrokenHead(Exception):
    """A log's head is not as the ledger wrote it: someone altered it."""


@dataclass(frozen=True)
class Head:
    """A log's tree, the signed checkpoint of it, and the signed statement of what its chains are.

    `note` is empty before the first entry, `statement` where there is none.
    """

    tree: CompactRange
    note: str
    statement: str = field(default="", compare=False)  # An anchor has none.

    @classmethod
    def of(cls, item: Item | None) -> "Head":
        """Return the head that an item holds; that of a log without one is empty. Raises BrokenHead."""
        if item is None or "size" not in item:
            return cls(CompactRange(), "")
        size, peaks, note = item["size"], item.get("peaks"), item.get("note")
        if not (isinstance(size, int) and isinstance(peaks, bytes) and isinstance(note, str)):
            raise BrokenHead
        try:
            return cls(CompactRange(size, split_hashes(peaks)), note, str(item.get("chains", "")))
        except ValueError as error:
            raise BrokenHead from error

    def checkpoint(self, log: str) -> Checkpoint:
        """Return the checkpoint of the tree, as the ledger signs it."""
        return Checkpoint(origin(log), self.tree.size, self.tree.root())

    def stated(self, log: str) -> Statement | None:
        """Return what its statement says; None if there is none. Raises BrokenStatement."""
        return signed_statements.verify(self.statement, self.checkpoint(log), public_keys()) if self.statement else None


@dataclass(frozen=True)
class Outbox:
    """A log's head and what waits behind it, as one Query found them: how far its chains are, and pointers.

    `pointers`: those that are authentic; `forged`: the others. `complete`: whether these are all.
    """

    head: Item | None
    ends: Mapping[int, End]
    pointers: list[Item]
    forged: list[Item]
    complete: bool

    @classmethod
    def read(cls, log: str, limit: int | None = None) -> "Outbox":
        """Return the outbox of a log: a limited number of pointers, or up to 8 MB of them."""
        items, last = list[Item](), None
        for _ in range(_MAX_PAGES):
            found = table.query(head_key(log)[0], since=HEAD, limit=limit and limit + 1 + SHARDS, after=last)
            items, last = [*items, *found.items], found.last_evaluated_key
            # Somebody may have made the chains so large that no pointer is on the first page.
            if last is None or (limit and last["sk"] > _POINTERS):
                break
        head = next((item for item in items if item["sk"] == HEAD), None)
        ends = {shard: End.of(item) for item in items if (shard := shard_of(item)) is not None}
        waiting = [item for item in items if item["sk"] != HEAD and shard_of(item) is None]
        judged = [(item, is_authentic(log, item)) for item in waiting[:limit]]
        authentic, forged = ([item for item, well in judged if well is wanted] for wanted in (True, False))
        return cls(head, ends, authentic, forged, last is None and len(waiting) == len(judged))

    def batch(self, statement: Statement | None) -> list[Item]:
        """Return the pointers to append at once: the oldest first, each behind those of its chain that come before it.

        While there are more than were read, what comes before one may be among the others: it waits, unless all do.
        """
        by_place = {each.link[:2]: pointer for pointer in self.pointers for each in links_of([pointer])}
        runs = [_run(pointer, by_place) for pointer in self.pointers]
        whole = [run for run, before in runs if self.complete or not _opens_gap(before, statement)]
        chosen = {each["sk"]: each for run in whole or [run for run, _ in runs] for each in run}
        return [*chosen.values()][:BATCH]


def _run(pointer: Item, by_place: Mapping[tuple[int, int], Item]) -> tuple[list[Item], tuple[int, int] | None]:
    """Return a pointer behind those that wait right before it in its chain, and the place before all of them."""
    run, place = [pointer], next((each.link[:2] for each in links_of([pointer])), None)
    while place and (place := (place[0], place[1] - 1)) in by_place:
        run.insert(0, by_place[place])
    return run, place


def _opens_gap(before: tuple[int, int] | None, statement: Statement | None) -> bool:
    return before is not None and statement is not None and statement.reached(before[0]).number < before[1]


def head_key(log: str) -> ItemKey:
    """Return where a log's head stands."""
    return pending_key(log, HEAD)


def origin(log: str) -> str:
    """Return the origin of a log's checkpoints."""
    return f"atrium/{log}"


def sequence_key(log: str, sequence: int) -> tuple[str, str]:
    """Return the key of a sealed entry in the index of sequences; in the table, that of the batch that ends with it."""
    return f"A#{log}#S", f"{sequence:012d}"


def sealed_ids(log: str, after: int, until: int) -> dict[int, str]:
    """Return the ids of entries after a sequence and up to another, by their sequences: one consistent Query.

    They are those of the first batches, without a gap. Entries that were sealed before there were batches have none.
    """
    pk, first = sequence_key(log, after + 1)
    found: dict[int, str] = {}
    for batch in table.query(pk, since=first, limit=_BATCHES).items:
        ids = batch.get("ids")
        if not (isinstance(ids, list) and batch["sk"].isdecimal()):
            break
        begin = int(batch["sk"]) - len(ids) + 1
        if begin > after + len(found) + 1:
            break
        found |= {n: str(entry_id) for n, entry_id in enumerate(ids, begin) if after + len(found) < n <= until}
    return found


def split_hashes(joined: bytes) -> tuple[bytes, ...]:
    """Return hashes that stand one after the other."""
    return tuple(joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES))


def append_pending(log: str, until: int | None = None) -> int:
    """Append all that waits in a log's outbox; return how long the oldest of it had waited, in milliseconds.

    What is not appended `until` a moment (milliseconds since 1970; some seconds from now) is left, and due. What is not
    authentic is set aside, and so is a pointer whose entry is gone or has its place already: the measure ForgedEntries
    counts them. Raises Problem `unavailable`, and ConcurrentModification if other workers keep moving the head.
    """
    lag, tries, until = 0, 0, until or now_ms() + _AT_MOST_MS
    while now_ms() < until:
        outbox = Outbox.read(log, _LOOK_AHEAD)
        if not (outbox.pointers or outbox.forged):
            return lag
        lag = max([lag, *(now_ms() - timestamp_of(pointer["sk"]) for pointer in outbox.pointers[:1])])
        pointers: list[Item] = []
        try:
            if outbox.pointers:
                head = Head.of(outbox.head)
                statement = _former_statement(log, head, outbox)
                pointers = outbox.batch(statement)
                table.write_transaction(_appending(log, head, statement, pointers))
                add_request_ids(pointer["requestId"] for pointer in pointers if _names_request(pointer))
            tries = 0
        except TransactionCancelled as cancelled:
            if _other_than_head(cancelled) and quarantine.refuse_stale(log, pointers):
                continue
            tries += 1
            if tries == _MAX_TRIES:
                raise ConcurrentModification from cancelled
            backoff_seconds(tries)
        if outbox.forged:
            quarantine.refuse(log, outbox.forged[:BATCH])
    return lag


def _other_than_head(cancelled: TransactionCancelled) -> bool:
    """Return whether it was not another worker who moved the head: then entries are not as their pointers say."""
    return bool(cancelled.failed) and 0 not in cancelled.failed


def _names_request(pointer: Item) -> bool:
    return isinstance(pointer.get("requestId"), str)


def _entry_key(log: str, pointer: Item) -> ItemKey:
    return EntryItem.make_item_key(log_id=log, id=pointer["sk"])


def _appending(log: str, head: Head, former: Statement | None, pointers: Sequence[Item]) -> list[Write]:
    size, tree = head.tree.size, head.tree.extend(pointer["leaf"] for pointer in pointers)
    statement = former.extended(links_of(pointers)) if former else None
    writes = [_move_head(log, size, tree, statement)]
    for sequence, pointer in enumerate(pointers, size + 1):
        writes += [
            _assign_sequence(log, pointer, sequence, tree.size, chained=statement is not None),
            _delete_pending(log, pointer),
        ]
    return [*writes, _put_batch(log, tree.size, pointers)]


def _former_statement(log: str, head: Head, outbox: Outbox) -> Statement | None:
    """Return the statement that the next one follows from; None as long as there is none.

    The first one follows from what the chains are. While a release without chains may still append, there is none. One
    that somebody altered is begun anew: the seals of the entries before then say that there was another.
    """
    lost = 0
    try:
        if stated := head.stated(log):
            return stated
    except BrokenStatement:
        add_fields(brokenStatement=True)
        add_metrics(ForgedEntries=1)
        lost = 1
    if not lost and unauthenticated_count():
        return None
    if not head.tree.size:
        return Statement(lost=lost)
    time.sleep(_SETTLING_SECONDS)  # What was half committed when the chains were read is there then.
    later = Outbox.read(log)
    begun = Statement.begun(head.tree.size, outbox.ends, links_of(later.pointers))
    return replace(begun, lost=lost) if later.complete or lost else None


def _put_batch(log: str, size: int, pointers: Sequence[Item]) -> Write:
    # Without a condition: the head's is enough, and an item that someone put there must not stop the log.
    pk, sk = sequence_key(log, size)
    item = {"pk": pk, "sk": sk, "ids": [pointer["sk"] for pointer in pointers]}
    return Write("Put", (pk, sk), item=item)


def _move_head(log: str, size: int, tree: CompactRange, statement: Statement | None) -> Write:
    checkpoint, seed = Head(tree, "").checkpoint(log), signing_key().secret
    note = checkpoints.sign(checkpoint, seed)
    values: Item = {"size": tree.size, "peaks": b"".join(tree.peaks), "note": note}
    values |= _unfollowed_mark(log) if organization_id_from_log(log) else {}
    values |= {"chains": signed_statements.sign(checkpoint, statement, seed)} if statement else {}
    mark = _unanchored_mark(log)
    since = {"index2sk": mark.pop("index2sk")}  # It keeps the time since when the head has waited for its anchor.
    move = ItemUpdate(head_key(log), set=values | mark, set_missing=since)
    return move.write("#size = :was", was=size) if size else move.write("attribute_not_exists(#size)")


def _unanchored_mark(log: str) -> Item:
    return {"index2pk": unanchored_pk(sum(log.encode()) % UNANCHORED_SHARDS), "index2sk": f"{now()}#{log}"}


def _unfollowed_mark(log: str) -> Item:
    # Whoever follows the log takes it away once the new entries are done; else the sweep wakes the log.
    return {
        **schedule_attributes(ScheduledTask(APPEND_TASK, after(now(), seconds=REDRIVE_AFTER_SECONDS)), head_key(log)),
        "log": log,
    }


def _assign_sequence(log: str, pointer: Item, sequence: int, tree_size: int, *, chained: bool) -> Write:
    sealed = make_entry_mac(log, sequence, tree_size, pointer["leaf"], chained=chained)
    values = {**sequence_attributes(log, sequence, tree_size), "seal": sealed}
    update = ItemUpdate(_entry_key(log, pointer), set=values, remove=["mac", "link"])
    return update.write("attribute_exists(#pk) AND attribute_not_exists(#sequence)")


def _delete_pending(log: str, pointer: Item) -> Write:
    return Write("Delete", pending_key(log, pointer["sk"]), condition="attribute_exists(#pk)", names=["pk"])


def sequence_attributes(log: str, sequence: int, tree_size: int) -> Item:
    """Return the attributes that say an entry's place, but for its seal: first held by the tree of `tree_size`."""
    pk, sk = sequence_key(log, sequence)
    return {"sequence": sequence, "tree_size": tree_size, "index1pk": pk, "index1sk": sk}


def unanchored_heads(shard: int) -> Iterator[list[Item]]:
    """Yield the heads of a shard that grew since they were anchored, a page a Query, the longest waiting first."""
    yield from table.iter_pages(Partition(unanchored_pk(shard), "index2"), limit=_PAGE)


def mark_anchored(log: str, size: int) -> None:
    """Let a head wait for no anchor any more, if it is still the one of that size."""
    anchored = ItemUpdate(head_key(log), remove=["index2pk", "index2sk"]).write("#size = :size", size=size)
    with suppress(TransactionCancelled):
        table.write_transaction([anchored])


def mark_unanchored(log: str, head: Item) -> bool:
    """Let a head that was read wait for an anchor; return whether it does. One that has grown meanwhile does so."""
    waits = ItemUpdate(head_key(log), set=_unanchored_mark(log)).write("#size = :size", size=head["size"])
    with suppress(TransactionCancelled):
        table.write_transaction([waits])
        return True
    return False


def unanchored_pk(shard: object) -> str:
    """Return the partition of the index over the heads of a shard that grew since they were anchored."""
    return f"ANCHOR#{shard}"


def count_pending(log: str) -> int:
    """Return how many entries wait in a log's outbox (of very many: at least so many)."""
    return table.count_items(head_key(log)[0], since=_POINTERS)

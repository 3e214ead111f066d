"""The ledger, which appends committed entries to their organization's Merkle tree (RFC 6962).

An entry is committed with a pointer in the partition of the log's head. Appending reads the head and the pointers in
one consistent query. One transaction assigns the sequences, deletes the pointers and moves the head, on condition that
the head is unchanged. So lost, repeated and late messages and concurrent workers are harmless. Forged pointers and
entries are quarantined: they are not appended and do not block the log.

The transaction also stores a batch, the ids and the leaf hashes of the appended entries. Batches resolve a sequence to
its entry, because the index of sequences may lag. An append that completes 256 entries also stores the tile of their
hashes, and its root in the tile above it (`tile_storage`). Proofs are computed from tiles.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chalicelib.kernel.audit_log import quarantine, signed_statements
from chalicelib.kernel.audit_log.append_order import AppendOrder
from chalicelib.kernel.audit_log.application_events import is_application_entry_item
from chalicelib.kernel.audit_log.authenticity import accepts_unauthenticated_entries, is_authentic_pending_item
from chalicelib.kernel.audit_log.entries import APPEND_TASK, REDRIVE_AFTER_SECONDS, entry_key, pending_key
from chalicelib.kernel.audit_log.entry_macs import (
    current_and_former_public_keys,
    load_signing_key_matching_public_key,
    make_entry_mac,
)
from chalicelib.kernel.audit_log.mac_chains import SHARDS, ChainEnd, chain_shard_or_none, links_with_macs
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement, Statement
from chalicelib.kernel.audit_log.tile_storage import (
    completed_tile_writes,
    leaf_hashes_in_batches_or_none,
    log_tile_storage,
)
from chalicelib.kernel.core.clock import after, now, now_ms, sleep_with_jittered_backoff
from chalicelib.kernel.core.ids import timestamp_ms_of_id
from chalicelib.kernel.core.logs import add_fields, add_metrics, add_request_ids
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint, NoteError
from chalicelib.kernel.crypto.merkle import CompactRange, split_hashes
from chalicelib.kernel.crypto.tree_tiles import MAX_TILE_LEVELS, TILE_WIDTH, completed_nodes
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey, ScheduledTask, schedule_attributes
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

BATCH_SIZE: Final = (table.MAX_TRANSACT_ITEMS - 2 - MAX_TILE_LEVELS) // 2
"""Entries appended in one transaction. Each takes two writes. The head, the batch and each tile take one each."""

HEAD_SORT_KEY: Final = "!"
"""Sort key of the head. It sorts before all pointers."""

_POINTERS_START: Final = '"'
"""Sorts after the head and the chains, and before all pointers."""

UNANCHORED_SHARDS: Final = 8
"""Partitions of the index of heads that have grown since they were anchored."""

_MAX_TRIES: Final = 5
_MAX_POINTERS_READ: Final = 8 * BATCH_SIZE
"""Pointers to choose from, so that entries are appended in the order of their chains."""
_MAX_PAGES: Final = 8
_SETTLING_SECONDS: Final = 0.2
_MAX_APPEND_MS: Final = 20_000


class BrokenHead(Exception):
    """A log's head is not as the ledger wrote it. Someone altered it."""


@dataclass(frozen=True)
class Head:
    """A log's tree, its signed checkpoint (`note`), and the signed statement of its chains.

    `note` is empty before the first entry. `statement` is empty if there is none.
    """

    tree: CompactRange
    note: str
    statement: str = field(default="", compare=False)  # Anchors have none.

    @classmethod
    def from_item_or_empty(cls, item: Item | None) -> "Head":
        """Return the head in an item, or the empty head of a new log. Raises BrokenHead."""
        if item is None or "size" not in item:
            return cls(CompactRange(), "")
        size, peaks, note = item["size"], item.get("peaks"), item.get("note")
        if not (isinstance(size, int) and isinstance(peaks, bytes) and isinstance(note, str)):
            raise BrokenHead
        try:
            return cls(CompactRange(size, split_hashes(peaks)), note, str(item.get("chains", "")))
        except ValueError as error:
            raise BrokenHead from error

    def unsigned_checkpoint(self, log: str) -> Checkpoint:
        """Return the checkpoint of the tree that the ledger signs."""
        return Checkpoint(checkpoint_origin(log), self.tree.size, self.tree.root_hash())

    def verified_statement_if_present(self, log: str) -> Statement | None:
        """Return the verified statement, or None if there is none. Raises BrokenStatement."""
        if not self.statement:
            return None
        checkpoint, public_keys = self.unsigned_checkpoint(log), current_and_former_public_keys()
        return signed_statements.verify_statement_note(self.statement, checkpoint, public_keys)


@dataclass(frozen=True)
class Outbox:
    """A log's head and its pending pointers from one query, with the ends of its chains.

    `pointers`: the authentic ones; `forged`: the others. `complete`: whether these are all.
    """

    head: Item | None
    ends: Mapping[int, ChainEnd]
    pointers: list[Item]
    forged: list[Item]
    complete: bool

    @classmethod
    def read(cls, log: str, limit: int | None = None) -> "Outbox":
        """Return the outbox of a log, with a limited number of pointers or up to 8 MB of them."""
        items, cursor = list[Item](), None
        for _ in range(_MAX_PAGES):
            page = table.query(head_key(log)[0], since=HEAD_SORT_KEY, limit=limit and limit + 1 + SHARDS, after=cursor)
            items, cursor = [*items, *page.items], page.last_evaluated_key
            # Altered chains may be so large that no pointer is on the first page.
            if cursor is None or (limit and cursor["sk"] > _POINTERS_START):
                break
        head = next((item for item in items if item["sk"] == HEAD_SORT_KEY), None)
        ends = {
            shard: ChainEnd.from_item_or_empty(item)
            for item in items
            if (shard := chain_shard_or_none(item)) is not None
        }
        pending = [item for item in items if item["sk"] != HEAD_SORT_KEY and chain_shard_or_none(item) is None]
        checked = [(item, is_authentic_pending_item(log, item)) for item in pending[:limit]]
        authentic, forged = ([item for item, is_valid in checked if is_valid is expected] for expected in (True, False))
        return cls(head, ends, authentic, forged, cursor is None and len(pending) == len(checked))

    def list_next_pointers(self, log: str, last_statement: Statement | None) -> list[Item]:
        """Return the pointers to append next. Raises Problem `unavailable`."""
        order = AppendOrder(self.pointers)
        if order.has_chain_contrary_to_id_order:
            order.add_record_order_constraints(_load_record_ids_by_entry_id(log, self.pointers))
        return order.list_appendable_entry_pointers(last_statement, limit=BATCH_SIZE, has_all_pending=self.complete)


def head_key(log: str) -> ItemKey:
    """Return the item key of a log's head."""
    return pending_key(log, HEAD_SORT_KEY)


def log_size_in_head_item(head: Item | None) -> int:
    """Return the number of entries of a log that have a sequence, without verifying the head."""
    return int(head.get("size", 0)) if head else 0


def checkpoint_origin(log: str) -> str:
    """Return the origin of a log's checkpoints."""
    return f"atrium/{log}"


def is_signed_checkpoint_of_log(log: str, size: int, note: str) -> bool:
    """Return whether a note is a checkpoint of a log at a size that the service has signed."""
    try:
        signed = checkpoints.verify_checkpoint_note(note, current_and_former_public_keys())
    except NoteError:
        return False
    return (signed.origin, signed.size) == (checkpoint_origin(log), size)


def sequence_index_or_batch_key(log: str, sequence: int) -> tuple[str, str]:
    """Return the key of an entry in the index of sequences.

    In the table, it is the key of the batch that ends with this entry.
    """
    return f"A#{log}#S", f"{sequence:012d}"


def append_pending_and_return_longest_wait_ms(log: str, deadline_ms: int | None = None) -> int:
    """Append all pending entries of a log, and return how long the oldest had been pending, in milliseconds.

    Entries that are not appended before the deadline (milliseconds since 1970) stay pending and due. Forged entries are
    quarantined, and so are pointers whose entry is gone or appended already; the metric ForgedEntries counts them.
    Raises Problem `unavailable`, and ConcurrentModification if other workers keep moving the head.
    """
    lag, attempts, deadline_ms = 0, 0, deadline_ms or now_ms() + _MAX_APPEND_MS
    while now_ms() < deadline_ms:
        outbox = Outbox.read(log, _MAX_POINTERS_READ)
        if not (outbox.pointers or outbox.forged):
            return lag
        lag = max([lag, *(now_ms() - timestamp_ms_of_id(pointer["sk"]) for pointer in outbox.pointers[:1])])
        pointers: list[Item] = []
        try:
            if outbox.pointers:
                head = Head.from_item_or_empty(outbox.head)
                statement = _load_or_try_to_start_statement_or_none(log, head, outbox)
                pointers = outbox.list_next_pointers(log, statement)
                table.write_transaction(_append_batch_writes(log, head, statement, pointers))
                add_request_ids(each["requestId"] for each in pointers if isinstance(each.get("requestId"), str))
            attempts = 0
        except TransactionCancelled as cancelled:
            if _has_failed_only_on_entries(cancelled) and quarantine.quarantine_stale(log, pointers):
                continue
            attempts += 1
            if attempts == _MAX_TRIES:
                raise ConcurrentModification from cancelled
            sleep_with_jittered_backoff(attempts)
        if outbox.forged:
            quarantine.quarantine_forged_and_repair_pointers(log, outbox.forged[:BATCH_SIZE])
    return lag


def _has_failed_only_on_entries(cancelled: TransactionCancelled) -> bool:
    """Return whether only entries caused the failure, not the head. These entries do not match their pointers."""
    return bool(cancelled.failed_items) and 0 not in cancelled.failed_items


def _load_record_ids_by_entry_id(log: str, pointers: Sequence[Item]) -> dict[str, str]:
    """Return the id of the record that each built-in entry is about, by the id of the entry.

    Erased entries have none. Neither have application events: nothing makes the ids of those about one target ascend.
    """
    entries = table.get_all([entry_key(log, pointer["sk"]) for pointer in pointers])
    return {
        entry["id"]: str(entry["target"])
        for entry in entries.values()
        if entry.get("target") and not is_application_entry_item(entry)
    }


def _append_batch_writes(log: str, head: Head, previous: Statement | None, pointers: Sequence[Item]) -> list[Write]:
    size, tree = head.tree.size, head.tree.with_appended_leaves(pointer["leaf"] for pointer in pointers)
    statement = previous.with_links(links_with_macs(pointers)) if previous else None
    writes = [_head_write(log, size, tree, statement)]
    for sequence, pointer in enumerate(pointers, size + 1):
        writes += [
            _assign_sequence_write(log, pointer, sequence, tree.size, chained=statement is not None),
            Write("Delete", pending_key(log, pointer["sk"]), condition="attribute_exists(#pk)", names=["pk"]),
        ]
    # The batch has no condition: that of the head is sufficient, and a forged item must not block the log.
    leaves, batch_key = [pointer["leaf"] for pointer in pointers], sequence_index_or_batch_key(log, tree.size)
    ids = [pointer["sk"] for pointer in pointers]
    batch = {"pk": batch_key[0], "sk": batch_key[1], "ids": ids, "leaves": b"".join(leaves)}
    return [*writes, Write("Put", batch_key, item=batch), *_tile_writes(log, head.tree, leaves)]


def _tile_writes(log: str, tree: CompactRange, leaves: Sequence[bytes]) -> list[Write]:
    """Return the writes of the tiles that an append completes: none, or one tile and the tiles above it.

    Reads the leaf hashes of the tile from the batches of the log.
    """
    boundary = (tree.size + len(leaves)) // TILE_WIDTH * TILE_WIDTH
    if boundary <= tree.size:
        return []
    earlier = load_leaf_hashes_from_batches_or_none(log, boundary - TILE_WIDTH, tree.size)
    tile_leaves = None if earlier is None else [*earlier, *leaves[: boundary - tree.size]]
    return completed_tile_writes(log_tile_storage(log), [*completed_nodes(tree, leaves)], tile_leaves)


def load_leaf_hashes_from_batches_or_none(log: str, begin: int, end: int) -> list[bytes] | None:
    """Return the leaf hashes from index `begin` to before `end`, a tile at most, or None if batches lack some of them.

    Raises Problem `unavailable`.
    """
    pk, since = sequence_index_or_batch_key(log, begin + 1)
    _, until = sequence_index_or_batch_key(log, end + TILE_WIDTH)
    return leaf_hashes_in_batches_or_none(table.query(pk, since=since, until=until).items, begin, end)


def _load_or_try_to_start_statement_or_none(log: str, head: Head, outbox: Outbox) -> Statement | None:
    """Return the statement on which the next one is based, or None if there is none yet.

    The first statement describes the current chains. There is none while a release without chains may still append. An
    altered statement is started anew; the MACs of earlier entries prove that there was another.
    """
    lost = 0
    try:
        if signed := head.verified_statement_if_present(log):
            return signed
    except BrokenStatement:
        add_fields(brokenStatement=True)
        add_metrics(ForgedEntries=1)
        lost = 1
    if not lost and accepts_unauthenticated_entries():
        return None
    if not head.tree.size:
        return Statement(lost=lost)
    time.sleep(_SETTLING_SECONDS)  # By then, all transactions that were in progress are complete.
    current_outbox = Outbox.read(log)
    statement = Statement.create(head.tree.size, outbox.ends, links_with_macs(current_outbox.pointers))
    return replace(statement, lost=lost) if current_outbox.complete or lost else None


def _head_write(log: str, previous_size: int, tree: CompactRange, statement: Statement | None) -> Write:
    checkpoint, seed = Head(tree, "").unsigned_checkpoint(log), load_signing_key_matching_public_key().secret
    note = checkpoints.sign_checkpoint_note(checkpoint, seed)
    values: Item = {"size": tree.size, "peaks": b"".join(tree.peaks), "note": note}
    values |= {"chains": signed_statements.sign_statement_note(checkpoint, statement, seed)} if statement else {}
    index_attributes = unanchored_index_attributes(log)
    # The time at which the head became unanchored is kept, and so is the schedule of a head that is not consumed.
    attributes_if_missing = {"index2sk": index_attributes.pop("index2sk")}
    attributes_if_missing |= unconsumed_schedule_attributes(log) if organization_id_from_log(log) else {}
    update = ItemUpdate(head_key(log), set=values | index_attributes, set_missing=attributes_if_missing)
    if previous_size:
        return update.to_write("#size = :was", was=previous_size)
    return update.to_write("attribute_not_exists(#size)")


def unanchored_index_attributes(log: str) -> Item:
    """Return the attributes that put a head into the index of unanchored heads."""
    return {"index2pk": unanchored_pk(sum(log.encode()) % UNANCHORED_SHARDS), "index2sk": f"{now()}#{log}"}


def unconsumed_schedule_attributes(log: str) -> Item:
    """Return the attributes that schedule a head, so that the sweep triggers its log.

    The log's consumer removes them when it has processed all entries.
    """
    return {
        **schedule_attributes(ScheduledTask(APPEND_TASK, after(now(), seconds=REDRIVE_AFTER_SECONDS)), head_key(log)),
        "log": log,
    }


def _assign_sequence_write(log: str, pointer: Item, sequence: int, tree_size: int, *, chained: bool) -> Write:
    entry_mac = make_entry_mac(log, sequence, tree_size, pointer["leaf"], chained=chained)
    values = {**entry_position_attributes(log, sequence, tree_size), "seal": entry_mac}
    update = ItemUpdate(entry_key(log, pointer["sk"]), set=values, remove=["mac", "link"])
    return update.to_write("attribute_exists(#pk) AND attribute_not_exists(#sequence)")


def entry_position_attributes(log: str, sequence: int, tree_size: int) -> Item:
    """Return the attributes with an entry's position in the tree of `tree_size`, without its MAC."""
    pk, sk = sequence_index_or_batch_key(log, sequence)
    return {"sequence": sequence, "tree_size": tree_size, "index1pk": pk, "index1sk": sk}


def unanchored_pk(shard: object) -> str:
    """Return the partition of a shard of the index of unanchored heads."""
    return f"ANCHOR#{shard}"


def count_pending_in_one_read(log: str) -> int:
    """Return the number of pending entries of a log, of which only the first 1 MB is counted."""
    return table.count_items_in_one_read(head_key(log)[0], since=_POINTERS_START).number

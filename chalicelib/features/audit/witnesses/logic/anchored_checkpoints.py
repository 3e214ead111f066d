"""The anchored checkpoints of all logs, each a leaf of the log of anchors.

The leaf's data has three lines, each with a newline: the SHA-256 of the checkpoint's origin in hexadecimal, the size,
and the root in base64. So the log of anchors does not reveal the ids of organizations, which contain 74 random bits.

An item for each checkpoint is stored before its log counts as anchored, so none is lost. It is in an index until it has
its position, `leaf_index`, in the log of anchors. A checkpoint is identified by its log and size, so it has one leaf,
however often it is stored. An item that somebody altered is never appended, and blocks no other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final, Self

from chalicelib.kernel.audit_log.ledger import Head, is_signed_checkpoint_of_log
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write, put_if_absent_write

PENDING_SHARDS: Final = 8
"""Partitions of the index of checkpoints that are not in the log of anchors yet."""

BATCH_SIZE: Final = 90
"""Checkpoints that are appended in one transaction. The head and the tiles of the tree need further writes."""


class AlteredCheckpoint(Exception):
    """Somebody altered the item of an anchored checkpoint. The message is its key."""


@dataclass(frozen=True)
class AnchoredCheckpoint:
    """An anchored checkpoint of a log. `leaf_index`: its position in the log of anchors from 0, None if pending."""

    log: str
    size: int
    note: str
    leaf_index: int | None

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the checkpoint in an item, whose signature is verified. Raises AlteredCheckpoint."""
        log, size, note, leaf_index = (item.get(name) for name in ("log", "size", "note", "leaf_index"))
        if (
            not (isinstance(log, str) and isinstance(size, int) and isinstance(note, str))
            or not isinstance(leaf_index, int | None)
            or checkpoint_key(log, size) != (item["pk"], item["sk"])
            or not is_signed_checkpoint_of_log(log, size, note)
        ):
            raise AlteredCheckpoint(f"{item['pk']} {item['sk']}")
        return cls(log, size, note, leaf_index)

    @cached_property
    def leaf_data(self) -> str:
        """The data of the checkpoint's leaf."""
        checkpoint = checkpoints.parse(self.note).checkpoint
        log_digest = sha256(checkpoint.origin.encode()).hexdigest()
        return f"{log_digest}\n{checkpoint.size}\n{to_base64(checkpoint.root)}\n"

    @property
    def leaf(self) -> bytes:
        """Return the hash of the checkpoint's leaf."""
        return leaf_hash(self.leaf_data.encode())

    def to_assign_index_write(self, leaf_index: int) -> Write:
        """Return the write that gives the checkpoint its position, on condition that it has none."""
        key = checkpoint_key(self.log, self.size)
        update = ItemUpdate(key, set={"leaf_index": leaf_index}, remove=["index2pk", "index2sk"])
        return update.to_write("attribute_exists(#pk) AND attribute_not_exists(#leaf_index)")


def checkpoint_key(log: str, size: int) -> ItemKey:
    """Return the key of an anchored checkpoint."""
    return f"A#{log}#W", f"{size:012d}"


def pending_pk(shard: object) -> str:
    """Return the partition of a shard of the index of pending checkpoints."""
    return f"ANCHORED#{shard}"


def store_if_absent(log: str, head: Head) -> None:
    """Store the checkpoint of an anchored head as pending, unless it is stored. Raises Problem `unavailable`."""
    pk, sk = checkpoint_key(log, head.tree.size)
    index = {"index2pk": pending_pk(sum(log.encode()) % PENDING_SHARDS), "index2sk": f"{log}#{sk}"}
    item: Item = {"pk": pk, "sk": sk, "log": log, "size": head.tree.size, "note": head.note, **index}
    try:
        table.write_transaction([put_if_absent_write(item)])
    except TransactionCancelled as cancelled:
        if not cancelled.failed_items:
            raise


def iter_pending_batches() -> Iterator[list[ItemKey]]:
    """Yield the keys of the pending checkpoints in batches of up to `BATCH_SIZE`, as the index shows them."""
    for shard in range(PENDING_SHARDS):
        for items in table.iter_item_pages(Partition(pending_pk(shard), "index2"), limit=BATCH_SIZE):
            if items:
                yield [(item["pk"], item["sk"]) for item in items]


def load_pending(keys: Iterable[ItemKey]) -> tuple[list[AnchoredCheckpoint], list[str]]:
    """Return those checkpoints of a batch that have no position yet, and the keys of those that somebody altered.

    The index may lag, so the checkpoints are read again.
    """
    pending, altered = list[AnchoredCheckpoint](), list[str]()
    for item in table.get_all(keys).values():
        try:
            checkpoint = AnchoredCheckpoint.from_item(item)
        except AlteredCheckpoint as error:
            altered.append(str(error))
        else:
            pending += [checkpoint] if checkpoint.leaf_index is None else []
    return pending, altered


def find_first_with_entry(log: str, sequence: int) -> AnchoredCheckpoint | None:
    """Return the smallest anchored checkpoint of a log whose tree contains an entry, or None.

    Raises AlteredCheckpoint.
    """
    items = table.query(checkpoint_key(log, 0)[0], since=checkpoint_key(log, sequence)[1], limit=1).items
    return AnchoredCheckpoint.from_item(items[0]) if items else None

"""The log of anchors: one Merkle tree of the anchored checkpoints of all logs, whose head is submitted to witnesses.

Its head is an item with the size, the peaks and the signed checkpoint of the tree. One transaction appends a batch of
checkpoints: it gives each its position and moves the head, on condition that the head is unchanged. So concurrent and
repeated tasks append each checkpoint once. All hashes of the tree are stored in tiles, also those of the last leaves.
The data of the leaves are stored in their order, too, so that everybody can read them (`anchor_list`).
"""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.audit.witnesses.entities import PARTITION
from chalicelib.features.audit.witnesses.logic import anchor_list
from chalicelib.features.audit.witnesses.logic.anchored_checkpoints import AnchoredCheckpoint, load_pending
from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.kernel.audit_log.entry_macs import current_and_former_public_keys, load_signing_key_matching_public_key
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head
from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.core.clock import sleep_with_jittered_backoff
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint, NoteError
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.crypto.tree_tiles import completed_nodes, leaf_nodes
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write

HEAD_KEY: Final[ItemKey] = (PARTITION, "HEAD")
"""The key of the head."""

_MAX_TRIES: Final = 5


def load_head_or_empty() -> Head:
    """Return the head after verifying its signature, or the empty head. Raises BrokenHead.

    The origin may be a former one: after a change of the setting, the next append signs the head with the new origin.
    """
    head = Head.from_item_or_empty(table.get(HEAD_KEY))
    if not head.tree.size:
        return head
    try:
        signed = checkpoints.verify_checkpoint_note(head.note, current_and_former_public_keys())
    except NoteError as error:
        raise BrokenHead from error
    if (signed.size, signed.root) != (head.tree.size, head.tree.root_hash()):
        raise BrokenHead
    return head


def append(keys: Sequence[ItemKey]) -> tuple[int, list[str]]:
    """Append those checkpoints of a batch that are pending. Return their number, and the keys of altered ones.

    Altered checkpoints are not appended. Raises BrokenHead, Problem `unavailable`, and ConcurrentModification if other
    workers keep moving the head.
    """
    for attempt in range(_MAX_TRIES):
        pending, altered = load_pending(keys)
        try:
            if pending:
                table.write_transaction(_append_writes(load_head_or_empty(), pending))
        except TransactionCancelled:
            sleep_with_jittered_backoff(attempt)
        else:
            return len(pending), altered
    raise ConcurrentModification


def sign_note(tree: CompactRange) -> str:
    """Return the signed checkpoint of a tree, with the origin in the settings."""
    checkpoint = Checkpoint(section(WitnessSettings).witnessed_log_origin, tree.size, tree.root_hash())
    return checkpoints.sign_checkpoint_note(checkpoint, load_signing_key_matching_public_key().secret)


def _append_writes(head: Head, pending: list[AnchoredCheckpoint]) -> list[Write]:
    size, leaves = head.tree.size, [each.leaf for each in pending]
    nodes = [*leaf_nodes(size, leaves), *completed_nodes(head.tree, leaves)]
    return [
        _head_write(size, head.tree.with_appended_leaves(leaves)),
        *(each.to_assign_index_write(index) for index, each in enumerate(pending, size)),
        *log_tile_storage(ANCHOR_LOG).node_writes(nodes),
        *anchor_list.append_writes(size, [each.leaf_data for each in pending]),
    ]


def _head_write(previous_size: int, tree: CompactRange) -> Write:
    values = {"size": tree.size, "peaks": b"".join(tree.peaks), "note": sign_note(tree)}
    update = ItemUpdate(HEAD_KEY, set=values)
    if previous_size:
        return update.to_write("#size = :was", was=previous_size)
    return update.to_write("attribute_not_exists(#size)")

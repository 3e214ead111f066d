"""Reads the hashes of a log's tree from its tiles, and computes proofs that are verified against the signed root."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import call
from typing import Final

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import find_head_fault
from chalicelib.features.audit.proofs.entities import TileBuild
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head, load_leaf_hashes_from_batches_or_none
from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors
from chalicelib.kernel.core.problems import Problem, unavailable
from chalicelib.kernel.crypto.tree_tiles import (
    TILE_WIDTH,
    MissingHash,
    Range,
    TileHashes,
    TileId,
    TreeHashes,
    tiles_of_ranges,
)
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues

BUILD_RETRY_SECONDS: Final = 60
"""Time after which a caller asks again while the tiles of a log are built."""

ALTERED_DETAIL: Final = "{} GET …/audit-log/verify-integrity says more."

Paths = Sequence[Sequence[bytes]]


@dataclass(frozen=True)
class SealedTree:
    """The tree of a log up to its signed head. `checkpoint`: the signed note; empty before the first entry."""

    log_id: str
    checkpoint: str
    size: int
    root: bytes

    @classmethod
    def from_head_item(cls, log_id: str, item: Item | None) -> "SealedTree":
        """Return the tree of the head in an item. Raises Problem `conflict` if somebody altered the head."""
        try:
            head = Head.from_item_or_empty(item)
        except BrokenHead:
            head = None
        if head is None or (head.tree.size and find_head_fault(log_id, head)):
            raise Problem("conflict", ALTERED_DETAIL.format("The head of the log was altered."))
        return cls(log_id, head.note, head.tree.size, head.tree.root_hash())

    @property
    def open_tile(self) -> TileId:
        """The last tile of leaves, which is stored when it is full. Until then its hashes are in the batches."""
        return TileId(0, self.size // TILE_WIDTH)

    def load_tiles(self, tiles: Iterable[TileId]) -> dict[TileId, TileHashes]:
        """Return the stored hashes of tiles, with parallel reads."""
        full = {*tiles} - {self.open_tile}
        reads: list[Callable[[], dict[TileId, TileHashes]]] = []
        if full:
            reads.append(partial(log_tile_storage(self.log_id).read, full))
        if self.open_tile in tiles:
            reads.append(self._load_open_tile)
        return {tile: hashes for each in table.gather(call, reads) for tile, hashes in each.items()}

    def load_tile_from_entries(self, tile: TileId) -> TileHashes:
        """Return the leaf hashes of a tile of level 0, as the entries contain them."""
        begin = tile.index * TILE_WIDTH
        return dict(enumerate(load_leaf_hashes_from_entries(self.log_id, begin, begin + tile.width_in(self.size))))

    def is_complete(self, tile: TileId, hashes: TileHashes) -> bool:
        """Return whether a tile has all its hashes."""
        return hashes.keys() >= {*range(tile.width_in(self.size))}

    def _load_open_tile(self) -> dict[TileId, TileHashes]:
        leaves = load_leaf_hashes_from_batches_or_none(self.log_id, self.open_tile.index * TILE_WIDTH, self.size)
        return {self.open_tile: dict(enumerate(leaves or []))}


def load_leaf_hashes_from_entries(log_id: str, begin: int, end: int) -> list[bytes]:
    """Return the leaf hashes of the entries from index `begin` to before `end`, or those before the first gap."""
    leaves: list[bytes] = []
    for entry in chain.from_iterable(logs.iter_sequenced_entry_chunks(log_id, begin, end)):
        leaf = entry.item.get("leaf")
        if not isinstance(leaf, bytes) or entry.item.get("sequence") != begin + len(leaves) + 1:
            break
        leaves.append(leaf)
    return leaves


def load_verified_paths(
    tree: SealedTree, ranges_of_paths: Sequence[Sequence[Range]], is_proof: Callable[[Paths], bool]
) -> Paths:
    """Return the paths of several proofs that lead to the signed root.

    `is_proof` verifies them. If the stored hashes are incomplete or altered, the hashes of one tile are read from the
    entries. If that is not enough, the job that builds the tiles is started. Raises Problem `unavailable` then.
    """
    needed = tiles_of_ranges(chain.from_iterable(ranges_of_paths))
    tiles = tree.load_tiles(needed)
    if paths := _verified_paths_or_none(tiles, ranges_of_paths, is_proof):
        return paths
    tile = _tile_to_reread_or_none(tree, needed, tiles)
    if tile:
        tiles[tile] = tree.load_tile_from_entries(tile)
        if paths := _verified_paths_or_none(tiles, ranges_of_paths, is_proof):
            return paths
    is_complete = all(tree.is_complete(each, tiles.get(each, {})) for each in needed)
    add_fields(tiles="altered" if is_complete else "incomplete")
    start_build_unless_exists(tree.log_id)
    raise unavailable(
        "The hashes of the log's tree are being prepared. If that takes more than an hour, verify the log's integrity.",
        BUILD_RETRY_SECONDS,
    )


def start_build_unless_exists(log_id: str) -> None:
    """Create the job that builds the tiles of a log. If it exists, it continues by itself."""
    changes = UnitOfWork(now())
    job = TileBuild(**new_id_and_time_fields(changes.now), log_id=log_id, lease_until=changes.now)
    changes.create(job)
    with suppress(ConcurrentModification):
        changes.commit()
        with log_and_ignore_aws_errors("start"):
            queues.notify_ledger(log_id, job.id, [(job.task, job.item_key)])


def _verified_paths_or_none(
    tiles: Mapping[TileId, TileHashes], ranges_of_paths: Sequence[Sequence[Range]], is_proof: Callable[[Paths], bool]
) -> Paths | None:
    try:
        paths = [TreeHashes(tiles).path(ranges) for ranges in ranges_of_paths]
    except MissingHash:
        return None
    return paths if is_proof(paths) else None


def _tile_to_reread_or_none(
    tree: SealedTree, needed: Iterable[TileId], tiles: Mapping[TileId, TileHashes]
) -> TileId | None:
    """Return the only incomplete tile if it contains leaves. If none is incomplete, return the open tile."""
    incomplete = [tile for tile in needed if not tree.is_complete(tile, tiles.get(tile, {}))]
    candidates = incomplete or [tile for tile in needed if tile == tree.open_tile]
    return candidates[0] if len(candidates) == 1 and not candidates[0].level else None

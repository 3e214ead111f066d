"""Proofs in the log of anchors, from its stored hashes."""

from collections.abc import Iterable, Sequence

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.crypto.tree_tiles import (
    TILE_WIDTH,
    Range,
    TileId,
    TreeHashes,
    consistency_ranges,
    tiles_of_ranges,
)
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG


def load_consistency_path(first_size: int, second_size: int) -> Sequence[bytes]:
    """Return the proof that a tree begins with a smaller one, which is not empty."""
    return _load_path(consistency_ranges(first_size, second_size))


def _load_path(ranges: Iterable[Range]) -> list[bytes]:
    ranges = [*ranges]
    tiles = tiles_of_ranges(ranges)
    hashes = log_tile_storage(ANCHOR_LOG).read(tiles)
    size = max((each.end for each in ranges), default=0)
    last = TileId(0, size // TILE_WIDTH)
    if last in tiles and last not in hashes:
        begin = last.index * TILE_WIDTH
        leaves = ledger.load_leaf_hashes_from_batches(ANCHOR_LOG, begin, size)
        hashes[last] = dict(enumerate(leaves or []))
    return TreeHashes(hashes).path(ranges)

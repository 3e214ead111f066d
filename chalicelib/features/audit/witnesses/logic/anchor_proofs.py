"""Proofs in the log of anchors, from its stored hashes."""

from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.crypto.tree_tiles import TreeHashes, consistency_ranges, tiles_of_ranges
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG


def load_consistency_path(first_size: int, second_size: int) -> list[bytes]:
    """Return the proof that a tree begins with a smaller one, which is not empty. Raises MissingHash."""
    ranges = consistency_ranges(first_size, second_size)
    return TreeHashes(log_tile_storage(ANCHOR_LOG).read(tiles_of_ranges(ranges))).path(ranges)

"""Proofs in the log of anchors, from its stored hashes."""

from collections.abc import Sequence

from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.crypto.tree_tiles import Range, TreeHashes, consistency_ranges, inclusion_ranges, tiles_of_ranges
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG


def load_consistency_path(first_size: int, second_size: int) -> list[bytes]:
    """Return the proof that a tree begins with a smaller one, which is not empty. Raises MissingHash."""
    return _load_path(consistency_ranges(first_size, second_size))


def load_inclusion_path(leaf_index: int, size: int) -> list[bytes]:
    """Return the proof that a tree contains the anchor with an index from 0. Raises MissingHash."""
    return _load_path(inclusion_ranges(leaf_index, size))


def _load_path(ranges: Sequence[Range]) -> list[bytes]:
    return TreeHashes(log_tile_storage(ANCHOR_LOG).read(tiles_of_ranges(ranges))).path(ranges)

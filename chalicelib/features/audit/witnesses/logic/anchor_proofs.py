"""Proofs in the log of anchors, from its stored hashes."""

from collections.abc import Sequence
from itertools import chain

from chalicelib.kernel.audit_log.tile_storage import log_tile_storage
from chalicelib.kernel.crypto.tree_tiles import Range, TreeHashes, consistency_ranges, tiles_of_ranges
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG


def load_consistency_path(first_size: int, second_size: int) -> list[bytes]:
    """Return the proof that a tree begins with a smaller one, which is not empty. Raises MissingHash."""
    [path] = load_paths([consistency_ranges(first_size, second_size)])
    return path


def load_paths(ranges_of_paths: Sequence[Sequence[Range]]) -> list[list[bytes]]:
    """Return the paths of several proofs, with one read. They are not verified. Raises MissingHash."""
    tiles = tiles_of_ranges(chain.from_iterable(ranges_of_paths))
    hashes = TreeHashes(log_tile_storage(ANCHOR_LOG).read(tiles))
    return [hashes.path(ranges) for ranges in ranges_of_paths]

"""Tiles of Merkle trees (c2sp.org/tlog-tiles), and the proofs that are computed from them (RFC 9162, section 2.1).

A tile of tile level L contains up to 256 consecutive nodes of the tree's level 8·L: the roots of perfect subtrees of
256**L leaves each. So a tile of level 0 contains leaf hashes, and a node of any other level is computed from one tile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from chalicelib.kernel.crypto.merkle import EMPTY_ROOT, CompactRange, node_hash

TILE_HEIGHT: Final = 8
"""Levels of the tree that a tile covers."""

TILE_WIDTH: Final = 1 << TILE_HEIGHT
"""Hashes of a full tile."""

MAX_TILE_LEVELS: Final = 5
"""Tile levels of the largest log. Sequences have 12 digits, so a log has less than 256**5 entries."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: the root of the `index`-th perfect subtree of 2**level leaves."""

    level: int
    index: int


class Range(NamedTuple):
    """The leaves from index `begin` to before `end`, whose subtree's root is an element of a proof."""

    begin: int
    end: int

    def perfect_subtrees(self) -> Iterator[Node]:
        """Yield the roots of the largest perfect subtrees that contain exactly these leaves, from left to right."""
        begin = self.begin
        while begin < self.end:
            max_level = (self.end - begin).bit_length() - 1
            level = min((begin & -begin).bit_length() - 1, max_level) if begin else max_level
            yield Node(level, begin >> level)
            begin += 1 << level


@dataclass(frozen=True, slots=True)
class TileId:
    """A tile: its tile level, and its index among the tiles of that level."""

    level: int
    index: int

    @classmethod
    def containing(cls, node: Node) -> "TileId":
        """Return the tile from which a node is computed."""
        level, height = divmod(node.level, TILE_HEIGHT)
        return cls(level, node.index >> TILE_HEIGHT - height)

    def width_in(self, size: int) -> int:
        """Return the number of hashes that the tile has in a tree of a size."""
        return max(0, min(TILE_WIDTH, (size >> TILE_HEIGHT * self.level) - self.index * TILE_WIDTH))


TileHashes = Mapping[int, bytes]
"""The hashes of a tile by their position in it, from 0. Some may be missing."""


class MissingHash(Exception):
    """A tile lacks a hash that a proof needs. `tile` is the tile."""

    def __init__(self, tile: TileId) -> None:
        """Initialize the exception with the tile."""
        super().__init__(f"the tile {tile.level}/{tile.index} is not complete")
        self.tile = tile


def tree_ranges(size: int) -> list[Range]:
    """Return the range whose root is the root of a tree."""
    return [Range(0, size)] if size else []


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges of an inclusion proof of the leaf at an index, in the order of the path (RFC 9162, 2.1.3.1).

    Raises ValueError if the tree does not contain the leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    begin, end, ranges = 0, size, list[Range]()
    while end - begin > 1:
        split = _split(begin, end)
        if index < split:
            ranges.append(Range(split, end))
            end = split
        else:
            ranges.append(Range(begin, split))
            begin = split
    return ranges[::-1]


def consistency_ranges(first_size: int, second_size: int) -> list[Range]:
    """Return the ranges of a proof that a tree begins with a smaller one, in the order of the path (RFC 9162, 2.1.4.1).

    Raises ValueError if the first size is 0 or exceeds the second one.
    """
    if not 0 < first_size <= second_size:
        raise ValueError(f"a tree of {second_size} leaves has no prefix of {first_size} to prove")
    begin, end, ranges = 0, second_size, list[Range]()
    while first_size < end:
        split = _split(begin, end)
        if first_size <= split:
            ranges.append(Range(split, end))
            end = split
        else:
            ranges.append(Range(begin, split))
            begin = split
    # A prefix that is a complete subtree is known to the verifier.
    return [*([Range(begin, end)] if begin else []), *ranges[::-1]]


def tiles_of_ranges(ranges: Iterable[Range]) -> set[TileId]:
    """Return the tiles that contain the hashes from which the roots of ranges are computed."""
    return {TileId.containing(node) for each in ranges for node in each.perfect_subtrees()}


@dataclass(frozen=True)
class TreeHashes:
    """The hashes of a tree in tiles, from which roots and proofs are computed."""

    tiles: Mapping[TileId, TileHashes]

    def root_of_range(self, leaves: Range) -> bytes:
        """Return the root of the subtree of a range. Raises MissingHash."""
        *larger, smallest = [self._node(node) for node in leaves.perfect_subtrees()]
        return reduce(lambda right, left: node_hash(left, right), reversed(larger), smallest)

    def path(self, ranges: Iterable[Range]) -> list[bytes]:
        """Return the roots of ranges. Raises MissingHash."""
        return [self.root_of_range(each) for each in ranges]

    def root(self, size: int) -> bytes:
        """Return the root of the tree of the first leaves. Raises MissingHash."""
        return self.root_of_range(Range(0, size)) if size else EMPTY_ROOT

    def _node(self, node: Node) -> bytes:
        tile = TileId.containing(node)
        height = node.level % TILE_HEIGHT
        start = (node.index << height) % TILE_WIDTH
        hashes = self.tiles.get(tile, {})
        try:
            row = [hashes[position] for position in range(start, start + (1 << height))]
        except KeyError:
            raise MissingHash(tile) from None
        while len(row) > 1:
            row = [node_hash(left, right) for left, right in zip(row[::2], row[1::2], strict=True)]
        return row[0]


def completed_nodes(tree: CompactRange, leaf_hashes: Sequence[bytes]) -> Iterator[tuple[Node, bytes]]:
    """Yield the nodes above the leaves that appending leaves adds to tiles, with their hashes.

    `tree` begins at the first leaf. A node of tile level 1 is the root of a full tile of level 0, and so on.
    """
    peaks = [*tree.peaks]
    for leaf_index, leaf in enumerate(leaf_hashes, tree.size):
        level, index, hash_ = 0, leaf_index, leaf
        while index & 1:
            level, index, hash_ = level + 1, index >> 1, node_hash(peaks.pop(), hash_)
            if level % TILE_HEIGHT == 0:
                yield Node(level, index), hash_
        peaks.append(hash_)


def leaf_nodes(first_index: int, leaf_hashes: Sequence[bytes]) -> Iterator[tuple[Node, bytes]]:
    """Yield leaves from an index on as nodes of a tree, with their hashes."""
    for index, leaf in enumerate(leaf_hashes, first_index):
        yield Node(0, index), leaf


def _split(begin: int, end: int) -> int:
    """Return where a range of leaves is split: after the largest power of two below its length."""
    return begin + (1 << (end - begin - 1).bit_length() - 1)

"""Merkle trees of logs (RFC 6962, section 2): appending, computing the root, and verifying proofs.

A tree of n leaves is stored as its *peaks*: the roots of the perfect subtrees that the binary digits of n describe.
They suffice to append leaves and to compute the root. Their number grows by at most one each time the log doubles. A
range of a tree is stored in the same way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from typing import Final

EMPTY_ROOT: Final = sha256().digest()
HASH_BYTES: Final = 32
"""Length of a hash of the tree (SHA-256)."""

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


def split_hashes(joined: bytes) -> tuple[bytes, ...]:
    """Return concatenated hashes as a tuple."""
    return tuple(joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES))


def leaf_hash(data: bytes) -> bytes:
    """Return the 32-byte hash of a leaf's data."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of the parent of two nodes."""
    return sha256(_NODE + left + right).digest()


@dataclass(frozen=True)
class CompactRange:
    """A range of `size` leaves from `begin` on, represented by the roots of the largest perfect subtrees that fill it.

    From the beginning of the tree these are its peaks, largest first. Elsewhere they are ordered from left to right.
    Raises ValueError if their number does not fit the range, or if one of them is not 32 bytes long.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()
    begin: int = 0

    def __post_init__(self) -> None:
        if min(self.size, self.begin) < 0 or len(self.peaks) != _count_perfect_subtrees(
            self.begin, self.begin + self.size
        ):
            raise ValueError(f"{len(self.peaks)} peaks do not fit {self.size} leaves from {self.begin} on")
        if any(len(peak) != HASH_BYTES for peak in self.peaks):
            raise ValueError(f"a peak is a hash of {HASH_BYTES} bytes")

    def with_appended_leaves(self, leaf_hashes: Iterable[bytes]) -> "CompactRange":
        """Return the range with further leaves, each given by its `leaf_hash`.

        Raises ValueError if one is not 32 bytes.
        """
        end, peaks = self.begin + self.size, list(self.peaks)
        for leaf in leaf_hashes:
            if len(leaf) != HASH_BYTES:
                raise ValueError(f"a leaf is given by its hash of {HASH_BYTES} bytes")
            node, index, level = leaf, end, 0
            # The left sibling is a subtree of the same size within the range. Both are merged.
            while index & 1 and index - 1 << level >= self.begin:
                node = sha256(_NODE + peaks.pop() + node).digest()
                index, level = index >> 1, level + 1
            peaks.append(node)
            end += 1
        return CompactRange(end - self.begin, tuple(peaks), self.begin)

    def root_hash(self) -> bytes:
        """Return the tree's 32-byte root, `EMPTY_ROOT` without leaves.

        Raises ValueError if the range does not start at the beginning of the tree.
        """
        if self.begin:
            raise ValueError("a part of a tree has no root")
        if not self.peaks:
            return EMPTY_ROOT
        *larger, smallest = self.peaks
        return reduce(lambda right, left: node_hash(left, right), reversed(larger), smallest)


def root_of_inclusion_path_or_none(index: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes | None:
    """Return the root of a tree according to the inclusion proof of a leaf (RFC 9162, section 2.1.3.2).

    Return None if the path does not have the length of a proof of this leaf.
    """
    if not 0 <= index < size:
        return None
    position, last, node = index, size - 1, leaf
    for sibling in path:
        if not last:
            return None
        if position & 1 or position == last:
            node = node_hash(sibling, node)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        position, last = position >> 1, last >> 1
    return node if not last else None


def is_consistent(
    first_size: int, first_root: bytes, second_size: int, second_root: bytes, path: Sequence[bytes]
) -> bool:
    """Return whether a path proves that the second tree begins with the first one (RFC 9162, section 2.1.4.2).

    The first tree has at least one leaf. Trees of the same size are consistent if their roots are equal.
    """
    if first_size == second_size:
        return not path and first_root == second_root
    if not (0 < first_size < second_size and path):
        return False
    # A first tree that is a complete subtree is not part of the path.
    nodes = [*path] if first_size & (first_size - 1) else [first_root, *path]
    position, last = first_size - 1, second_size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    first = second = nodes[0]
    for node in nodes[1:]:
        if not last:
            return False
        if position & 1 or position == last:
            first, second = node_hash(node, first), node_hash(node, second)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            second = node_hash(second, node)
        position, last = position >> 1, last >> 1
    return not last and (first, second) == (first_root, second_root)


def _count_perfect_subtrees(begin: int, end: int) -> int:
    """Return the number of perfect subtrees that fill a range."""
    count = 0
    while begin < end:
        largest_size = 1 << (end - begin).bit_length() - 1
        begin += min(begin & -begin or largest_size, largest_size)
        count += 1
    return count

"""The tree whose root stands for a whole log (RFC 6962, section 2): appending to it and naming its head.

A tree of n leaves is kept as its *peaks*, the roots of the perfect subtrees that n's binary digits name: at most one
hash for each doubling of the log, and all that an append or the root needs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from typing import Final

EMPTY_ROOT: Final = sha256().digest()
HASH_BYTES: Final = 32

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


def leaf_hash(data: bytes) -> bytes:
    """Return the 32-byte hash of a leaf's data."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of the node above two others."""
    return sha256(_NODE + left + right).digest()


@dataclass(frozen=True)
class CompactRange:
    """A tree of `size` leaves by its peaks, largest subtree first.

    Raises ValueError if there are not exactly as many peaks, of 32 bytes each, as `size` has binary ones.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0 or len(self.peaks) != self.size.bit_count():
            raise ValueError(f"{len(self.peaks)} peaks can't be a tree of {self.size} leaves")
        if any(len(peak) != HASH_BYTES for peak in self.peaks):
            raise ValueError(f"a peak is a hash of {HASH_BYTES} bytes")

    def extend(self, leaves: Iterable[bytes]) -> "CompactRange":
        """Return the tree with the leaves after its own, each given by its `leaf_hash`.

        Raises ValueError if one is not 32 bytes.
        """
        size, peaks = self.size, list(self.peaks)
        for leaf in leaves:
            if len(leaf) != HASH_BYTES:
                raise ValueError(f"a leaf is given by its hash of {HASH_BYTES} bytes")
            node, height = leaf, size
            while height & 1:  # a subtree as large as the node's own stands to its left: the two are one now
                node = sha256(_NODE + peaks.pop() + node).digest()
                height >>= 1
            peaks.append(node)
            size += 1
        return CompactRange(size, tuple(peaks))

    def root(self) -> bytes:
        """Return the tree's 32-byte root; that of no leaves is `EMPTY_ROOT`."""
        if not self.peaks:
            return EMPTY_ROOT
        *larger, smallest = self.peaks
        return reduce(lambda right, left: node_hash(left, right), reversed(larger), smallest)

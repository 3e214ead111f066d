"""How a log is verified: pure decisions about sealed entries in the order of their sequence."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from chalicelib.features.audit.models import Failure
from chalicelib.kernel.events import EntryItem
from chalicelib.kernel.ledger import seal
from chalicelib.kernel.merkle import CompactRange, leaf_hash

_NUMBER_BYTES: Final = 8


@dataclass(frozen=True)
class Fault:
    """Why a log does not verify, and from which sequence on."""

    failure: Failure
    sequence: int | None


@dataclass(frozen=True)
class Verified:
    """How far a log is verified: the tree of all entries so far."""

    tree: CompactRange = field(default_factory=CompactRange)

    def extend(self, log: str, entries: Iterable[EntryItem]) -> "Verified | Fault":
        """Return the verified log with the entries that follow, or the first fault among them.

        Entries come with their bytes in `body`. A gap is a fault, and so is a second entry at a place that is taken.
        """
        leaves: list[bytes] = []
        for sequence, entry in enumerate(entries, self.tree.size + 1):
            if (entry.sequence or sequence) < sequence:
                return Fault("modified", entry.sequence)
            if entry.sequence != sequence or entry.body is None:
                return Fault("missing", sequence)
            leaf = leaf_hash(entry.body)
            failure = _failure(log, sequence, leaf, entry)
            if failure:
                return Fault(failure, sequence)
            leaves.append(leaf)
        return Verified(self.tree.extend(leaves))


def _failure(log: str, sequence: int, leaf: bytes, entry: EntryItem) -> Failure | None:
    """Return what is wrong with an entry at its sequence, if anything.

    The ledger's seal names the sequence it gave to a leaf: one that is right for another sequence has been moved.
    """
    given = entry.seal or b""
    if leaf == entry.leaf and given == seal(log, sequence, leaf):
        return None
    sealed_as = int.from_bytes(given[:_NUMBER_BYTES], "big")
    if sealed_as != sequence and leaf == entry.leaf and _is_seal(log, sealed_as, leaf, given):
        return "reordered"
    return "modified"


def _is_seal(log: str, sequence: int, leaf: bytes, given: bytes) -> bool:
    return given == seal(log, sequence, leaf)

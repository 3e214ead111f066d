"""How a log is verified: pure decisions about sealed entries in the order of their sequence."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chalicelib.features.audit.models import Failure
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.entry_macs import public_keys, verify_entry_mac
from chalicelib.kernel.audit_log.ledger import Head, origin, sequence_attributes, sequence_key, split_hashes
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash
from chalicelib.kernel.storage.entity import Item


@dataclass(frozen=True)
class Fault:
    """Why a log does not verify, and from which sequence on."""

    failure: Failure
    sequence: int | None


@dataclass(frozen=True)
class StoredEntry:
    """An entry as the table holds it, and its canonical bytes, which may stand elsewhere; None if they are gone."""

    item: Item
    body: object


@dataclass(frozen=True)
class Verified:
    """How far a log is verified: the tree of all entries so far.

    `since`: the size of the tree beyond which there were statements of the log's chains beside it, which the seals of
    entries say too; None if that is not looked at.
    """

    tree: CompactRange = field(default_factory=CompactRange)
    since: int | None = None

    def extend(self, log: str, entries: Iterable[StoredEntry]) -> "Verified | Fault":
        """Return the verified log with the entries that follow, or the first fault among them.

        A gap is a fault, and so is a second entry at a place that is taken.
        """
        leaves: list[bytes] = []
        for sequence, entry in enumerate(entries, self.tree.size + 1):
            _, here = sequence_key(log, sequence)
            if entry.item["index1sk"] < here:
                return Fault("modified", sequence - 1)
            erased = "erased" in entry.item
            if entry.item["index1sk"] > here or (entry.body is None and not erased):
                return Fault("missing", sequence)
            failure = _erased_failure(log, sequence, entry) if erased else _failure(log, sequence, entry, self.since)
            if failure:
                return Fault(failure, sequence)
            leaves.append(entry.item["leaf"])
        return Verified(self.tree.extend(leaves), self.since)

    def position(self) -> dict[str, Any]:
        """Return it as a cursor keeps it."""
        return {"at": self.tree.size, "peaks": to_base64(b"".join(self.tree.peaks)), "since": self.since}

    @classmethod
    def at(cls, position: dict[str, Any]) -> "Verified":
        """Return what a cursor kept."""
        return cls(CompactRange(position["at"], split_hashes(from_base64(position["peaks"]))), position.get("since"))


def _failure(log: str, sequence: int, entry: StoredEntry, since: int | None = None) -> Failure | None:
    """Return what is wrong with an entry at its sequence, if anything; none of its attributes is taken for granted.

    The ledger's seal names the sequence it gave to a leaf: one that is right for another sequence has been moved.
    Whatever lists and filters go by has to be what the bytes say, or an entry could be hidden from them.
    """
    item, body = entry.item, entry.body
    seal, size = item.get("seal"), item.get("tree_size")
    if not isinstance(body, bytes) or not isinstance(seal, bytes) or not isinstance(size, int):
        return "modified"
    leaf = leaf_hash(body)
    chained = None if since is None else size > since
    given = verify_entry_mac(seal, log, size, leaf, chained=chained) if leaf == item.get("leaf") else None
    if given != sequence:
        return "reordered" if given else "modified"
    try:
        said = EntryItem.of(log, body)
    except (ValueError, KeyError, TypeError):
        return "modified"
    whole = said.item() | sequence_attributes(log, sequence, size) | {"seal": seal}
    return None if whole.items() <= item.items() else "modified"


def _erased_failure(log: str, sequence: int, entry: StoredEntry) -> Failure | None:
    """Return what is wrong with an entry that says it was erased: only the service's signature makes that true."""
    return None if is_entry(entry.item) and redaction.is_intact(log, sequence, entry.item) else "modified"


def is_proven(log: str, entry: StoredEntry) -> bool:
    """Return whether an entry is what the ledger has sealed, at the sequence that it says is its own."""
    sequence = entry.item.get("sequence")
    return isinstance(sequence, int) and _failure(log, sequence, entry) is None


def head_fault(log: str, head: Head) -> Fault | None:
    """Return what is wrong with the head of a log that has entries: its note is signed, and says what its tree says."""
    try:
        signed = checkpoints.verify(head.note, public_keys())
    except NoteError:
        return Fault("bad_signature", None)
    if (signed.origin, signed.size) != (origin(log), head.tree.size):
        return Fault("bad_signature", None)
    return None if signed.root == head.tree.root() else Fault("forked", None)


def is_entry(item: Item) -> bool:
    """Return whether an item has what an entry is shown by."""
    names = ["id", "created_at", "updated_at", "log_id", "type", *(() if "erased" in item else ("target", "actor"))]
    return isinstance(item.get("leaf"), bytes) and all(isinstance(item.get(name), str) for name in names)

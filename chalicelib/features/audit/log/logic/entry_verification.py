"""Verification rules for sequenced entries and for the heads of logs. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.features.audit.log.models import Failure
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.application_events import is_application_entry_item
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.entry_macs import current_and_former_public_keys, verified_sequence_or_none
from chalicelib.kernel.audit_log.ledger import (
    Head,
    checkpoint_origin,
    entry_position_attributes,
    sequence_index_or_batch_key,
)
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash, split_hashes
from chalicelib.kernel.storage.entity import Item

_ATTRIBUTES_OF_SOME_ENTRIES: Final = (
    "target",
    "origin",
    f"{EntryItem.by_target.index}pk",
    f"{EntryItem.by_origin.index}pk",
    f"{EntryItem.by_origin.index}sk",
)
"""Attributes that lists and filters use, and that only some entries have."""


@dataclass(frozen=True)
class Fault:
    """The reason why a log does not verify, and the first sequence that is affected."""

    failure: Failure
    sequence: int | None


@dataclass(frozen=True)
class StoredEntry:
    """An entry as stored. `body`: its canonical bytes, possibly from an item of their own; None if they are missing."""

    item: Item
    body: object

    @property
    def body_bytes_or_none(self) -> bytes | None:
        """Return the body, or None if its bytes are missing."""
        return self.body if isinstance(self.body, bytes) else None

    @property
    def has_body_or_is_erased(self) -> bool:
        """Return whether nothing of the entry is missing. An erased entry has no body."""
        return self.body_bytes_or_none is not None or "erased" in self.item


@dataclass(frozen=True)
class VerifiedPrefix:
    """The verified prefix of a log: the Merkle tree of all entries so far.

    `chained_since_size`: the tree size from which the MAC chains cover entries, so each entry's own MAC has to confirm
    that; None skips the check.
    """

    tree: CompactRange = field(default_factory=CompactRange)
    chained_since_size: int | None = None

    def with_verified_entries_or_fault(self, log_id: str, entries: Iterable[StoredEntry]) -> "VerifiedPrefix | Fault":
        """Return the prefix extended by the following entries, or the first fault among them.

        A gap is a fault, and so is a second entry with the same sequence.
        """
        leaves: list[bytes] = []
        for sequence, entry in enumerate(entries, self.tree.size + 1):
            _, sort_key = sequence_index_or_batch_key(log_id, sequence)
            if entry.item["index1sk"] < sort_key:
                return Fault("modified", sequence - 1)
            erased = "erased" in entry.item
            if entry.item["index1sk"] > sort_key or (entry.body is None and not erased):
                return Fault("missing", sequence)
            failure = (
                _find_erased_entry_failure(log_id, sequence, entry)
                if erased
                else _find_entry_failure(log_id, sequence, entry, self.chained_since_size)
            )
            if failure:
                return Fault(failure, sequence)
            leaves.append(entry.item["leaf"])
        return VerifiedPrefix(self.tree.with_appended_leaves(leaves), self.chained_since_size)

    def to_cursor_position(self) -> dict[str, Any]:
        """Return the state as it is stored in a cursor."""
        return {"at": self.tree.size, "peaks": to_base64(b"".join(self.tree.peaks)), "since": self.chained_since_size}

    @classmethod
    def from_cursor_position(cls, position: dict[str, Any]) -> "VerifiedPrefix":
        """Return the state that a cursor holds."""
        return cls(CompactRange(position["at"], split_hashes(from_base64(position["peaks"]))), position.get("since"))


def _find_entry_failure(
    log_id: str, sequence: int, entry: StoredEntry, chained_since_size: int | None = None
) -> Failure | None:
    """Return the failure of an entry at its sequence, or None. Trusts none of the stored attributes.

    The entry's MAC covers its sequence, so an entry whose MAC is valid for another sequence was moved. All attributes
    that lists and filters use have to match the body. Otherwise an attacker could hide an entry from them.
    """
    item, body = entry.item, entry.body
    seal, size = item.get("seal"), item.get("tree_size")
    if not isinstance(body, bytes) or not isinstance(seal, bytes) or not isinstance(size, int):
        return "modified"
    computed_leaf = leaf_hash(body)
    is_chained = None if chained_since_size is None else size > chained_since_size
    authenticated_sequence = (
        verified_sequence_or_none(seal, log_id, size, computed_leaf, chained=is_chained)
        if computed_leaf == item.get("leaf")
        else None
    )
    if authenticated_sequence != sequence:
        return "reordered" if authenticated_sequence else "modified"
    try:
        decoded = EntryItem.from_canonical_bytes(log_id, body)
    except (ValueError, KeyError, TypeError):
        return "modified"
    expected = decoded.item() | entry_position_attributes(log_id, sequence, size) | {"seal": seal}
    has_others = any(name in item and name not in expected for name in _ATTRIBUTES_OF_SOME_ENTRIES)
    return None if expected.items() <= item.items() and not has_others else "modified"


def _find_erased_entry_failure(log_id: str, sequence: int, entry: StoredEntry) -> Failure | None:
    """Return the failure of an entry that claims to be erased; only the service's signature confirms that."""
    return (
        None
        if has_entry_display_attributes(entry.item) and redaction.is_redacted_entry_intact(log_id, sequence, entry.item)
        else "modified"
    )


def is_valid_at_claimed_sequence(log_id: str, entry: StoredEntry) -> bool:
    """Return whether an entry has a valid MAC for the sequence that it claims."""
    sequence = entry.item.get("sequence")
    return isinstance(sequence, int) and _find_entry_failure(log_id, sequence, entry) is None


def find_failure_at_claimed_sequence(log_id: str, entry: StoredEntry) -> Failure | None:
    """Return the failure of an entry at the sequence that it claims, or None. The entry may be erased."""
    sequence = entry.item.get("sequence")
    if not isinstance(sequence, int):
        return "modified"
    find_failure = _find_erased_entry_failure if "erased" in entry.item else _find_entry_failure
    return find_failure(log_id, sequence, entry)


def find_head_fault(log_id: str, head: Head) -> Fault | None:
    """Return the fault in the head of a non-empty log: its signature, its size or its root."""
    try:
        signed = checkpoints.verify_checkpoint_note(head.note, current_and_former_public_keys())
    except NoteError:
        return Fault("bad_signature", None)
    if (signed.origin, signed.size) != (checkpoint_origin(log_id), head.tree.size):
        return Fault("bad_signature", None)
    return None if signed.root == head.tree.root_hash() else Fault("forked", None)


def has_entry_display_attributes(item: Item) -> bool:
    """Return whether an item has all attributes that are needed to show it as an entry."""
    names = ["id", "created_at", "updated_at", "log_id", "type", *(() if "erased" in item else ("actor",))]
    has_valid_target = isinstance(item.get("target"), str) or (
        "erased" in item or ("target" not in item and is_application_entry_item(item))
    )
    return (
        has_valid_target
        and isinstance(item.get("leaf"), bytes)
        and all(isinstance(item.get(name), str) for name in names)
    )

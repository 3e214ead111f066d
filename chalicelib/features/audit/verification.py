"""Verification of a log: recomputes its tree from its entries, a window a request, against its signed head."""

from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.rules import Fault, Verified
from chalicelib.kernel import checkpoints, table
from chalicelib.kernel.checkpoints import BadSignature, Checkpoint, NoteError
from chalicelib.kernel.encoding import from_base64, to_base64
from chalicelib.kernel.ledger import Head, head_key, origin, pending, public_keys, split_hashes
from chalicelib.kernel.merkle import EMPTY_ROOT, CompactRange
from chalicelib.kernel.problems import FieldError, Invalid

WINDOW: Final = 5_000
"""Entries verified in one request."""


@dataclass(frozen=True)
class Progress:
    """How far verification is: the head that was signed when it began, and the tree of what was verified since."""

    note: str
    size: int
    verified: Verified

    def position(self) -> dict[str, Any]:
        """Return it as a cursor keeps it."""
        tree = self.verified.tree
        return {"note": self.note, "size": self.size, "at": tree.size, "peaks": to_base64(b"".join(tree.peaks))}

    @classmethod
    def at(cls, position: dict[str, Any]) -> "Progress":
        """Return what a cursor kept."""
        tree = CompactRange(position["at"], split_hashes(from_base64(position["peaks"])))
        return cls(position["note"], position["size"], Verified(tree))


def begin(log: str) -> Progress:
    """Return the beginning of a verification of all that is in a log's tree now."""
    head = Head.of(table.get(head_key(log)))
    return Progress(head.note, head.tree.size, Verified())


def kept_checkpoint(log: str, note: str) -> Checkpoint | Fault:
    """Return the checkpoint a caller kept, or a fault if we never signed it.

    Raises Invalid if it is no checkpoint of this log.
    """
    try:
        checkpoint = checkpoints.verify(note, public_keys())
    except BadSignature:
        return Fault("bad_signature", None)
    except NoteError as error:
        raise Invalid([FieldError("query/checkpoint", "malformed", f"This is no checkpoint: {error}.")]) from None
    if checkpoint.origin != origin(log):
        raise Invalid([FieldError("query/checkpoint", "malformed", f"This is a checkpoint of {checkpoint.origin}.")])
    return checkpoint


def advance(log: str, progress: Progress, kept: Checkpoint | None) -> Progress | Fault:
    """Return the progress after one window, or what is wrong with the log."""
    fault = _head_fault(log, progress, kept)
    if fault:
        return fault
    verified = progress.verified
    stop = min(progress.size, verified.tree.size + WINDOW)
    # A kept checkpoint is compared exactly where it ends.
    stops = [kept.size, stop] if kept and verified.tree.size < kept.size < stop else [stop]
    for end in stops:
        result = _verify_up_to(log, verified, end)
        if isinstance(result, Fault):
            return result if _continues(log, result, progress.size) else Fault("truncated", result.sequence)
        verified = result
        if kept and kept.size == verified.tree.size and kept.root != verified.tree.root():
            return Fault("forked", None)
    if verified.tree.size == progress.size and progress.size and verified.tree.root() != _signed(progress.note).root:
        return Fault("forked", None)
    return replace(progress, verified=verified)


def _head_fault(log: str, progress: Progress, kept: Checkpoint | None) -> Fault | None:
    if kept and kept.size > progress.size:
        return Fault("truncated", progress.size + 1)
    if not progress.size:
        # The first entry of a log is written with the log: one that has none, and waits for none, has lost it.
        return None if pending(log) else Fault("truncated", 1)
    try:
        signed = checkpoints.verify(progress.note, public_keys())
    except NoteError:
        return Fault("bad_signature", None)
    return None if (signed.origin, signed.size) == (origin(log), progress.size) else Fault("bad_signature", None)


def root(progress: Progress) -> bytes:
    """Return the root that the signed head claims; that of an empty tree without a head."""
    try:
        return _signed(progress.note).root
    except NoteError:
        return EMPTY_ROOT


def _signed(note: str) -> Checkpoint:
    return checkpoints.parse(note).checkpoint


def _verify_up_to(log: str, verified: Verified, end: int) -> Verified | Fault:
    for entries in logs.sealed(log, verified.tree.size, end):
        if not entries:
            return Fault("missing", verified.tree.size + 1)
        result = verified.extend(log, entries)
        if isinstance(result, Fault):
            return result
        verified = result
    return verified


def _continues(log: str, fault: Fault, size: int) -> bool:
    """Return whether there is anything at or behind the fault: if not, the log was cut off there."""
    if fault.failure != "missing" or fault.sequence is None:
        return True
    return any(entry.sequence is not None for page in logs.sealed(log, fault.sequence - 1, size) for entry in page)

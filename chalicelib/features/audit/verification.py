"""Verification of a log: recomputes its tree from its entries, a window a request, against its signed head."""

from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.features.audit import log as logs
from chalicelib.features.audit.rules import Fault, Verified
from chalicelib.kernel import checkpoints, table
from chalicelib.kernel.checkpoints import BadSignature, Checkpoint, NoteError
from chalicelib.kernel.encoding import from_base64, to_base64
from chalicelib.kernel.ledger import (
    BrokenHead,
    Head,
    head_key,
    origin,
    pending,
    public_keys,
    sequence_key,
    split_hashes,
)
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

    @property
    def root(self) -> bytes:
        """The root that the signed head claims; that of an empty tree without a head."""
        try:
            return checkpoints.parse(self.note).checkpoint.root
        except NoteError:
            return EMPTY_ROOT

    @classmethod
    def at(cls, position: dict[str, Any]) -> "Progress":
        """Return what a cursor kept."""
        tree = CompactRange(position["at"], split_hashes(from_base64(position["peaks"])))
        return cls(position["note"], position["size"], Verified(tree))


@dataclass(frozen=True)
class Outcome:
    """How far the log is verified, what is wrong with it, if anything, and how many entries wait for it."""

    progress: Progress
    fault: Fault | None
    waiting: int

    @property
    def done(self) -> bool:
        """Whether nothing is left to verify."""
        return self.fault is not None or self.progress.verified.tree.size == self.progress.size


def verify(log: str, position: dict[str, Any] | None, kept_note: str | None) -> Outcome:
    """Verify one window of a log, from a position or from its beginning, and hold it against a checkpoint kept.

    Raises Invalid if `kept_note` is no checkpoint of this log.
    """
    waiting = pending(log)  # Counted before the head is read: what is appended meanwhile is in the tree, not nowhere.
    head = None if position else _head(log)
    if position:
        progress = Progress.at(position)
    elif head:
        progress = Progress(head.note, head.tree.size, Verified())
    else:
        return Outcome(Progress("", 0, Verified()), Fault("bad_signature", None), waiting)
    kept = _kept_checkpoint(log, kept_note) if kept_note else None
    if isinstance(kept, Fault):
        return Outcome(progress, kept, waiting)
    fault = _head_fault(log, progress, kept, waiting)
    if head and not fault and head.tree.root() != progress.root:
        fault = Fault("forked", None)
    result = fault or _advance(log, progress, kept)
    return Outcome(progress, result, waiting) if isinstance(result, Fault) else Outcome(result, None, waiting)


def _head(log: str) -> Head | None:
    """Return a log's head, or None if it is not as the ledger wrote it."""
    try:
        return Head.of(table.get(head_key(log)))
    except BrokenHead:
        return None


def _kept_checkpoint(log: str, note: str) -> Checkpoint | Fault:
    try:
        checkpoint = checkpoints.verify(note, public_keys())
    except BadSignature:
        return Fault("bad_signature", None)
    except NoteError as error:
        raise Invalid([FieldError("query/checkpoint", "malformed", f"This is no checkpoint: {error}.")]) from None
    if checkpoint.origin != origin(log):
        raise Invalid([FieldError("query/checkpoint", "malformed", f"This is a checkpoint of {checkpoint.origin}.")])
    return checkpoint


def _head_fault(log: str, progress: Progress, kept: Checkpoint | None, waiting: int) -> Fault | None:
    if kept and kept.size > progress.size:
        return Fault("truncated", progress.size + 1)
    if not progress.size:
        # The first entry of a log is written with the log: one that has none, and waits for none, has lost it.
        return None if waiting else Fault("truncated", 1)
    try:
        signed = checkpoints.verify(progress.note, public_keys())
    except NoteError:
        return Fault("bad_signature", None)
    return None if (signed.origin, signed.size) == (origin(log), progress.size) else Fault("bad_signature", None)


def _advance(log: str, progress: Progress, kept: Checkpoint | None) -> Progress | Fault:
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
    if verified.tree.size == progress.size and (fault := _end_fault(log, progress, verified)):
        return fault
    return replace(progress, verified=verified)


def _end_fault(log: str, progress: Progress, verified: Verified) -> Fault | None:
    """Return what is wrong once all is verified: another root than the signed one, or entries behind the head."""
    if verified.tree.root() != progress.root:
        return Fault("forked", None)
    pk, following = sequence_key(log, progress.size + 1)
    beyond = table.query(pk, index="index1", since=following, limit=1).items
    head_now = _head(log) if beyond else None
    grown = head_now is not None and head_now.tree.size > progress.size
    return Fault("forked", progress.size + 1) if beyond and not grown else None


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
    return any(logs.sealed(log, fault.sequence - 1, size))

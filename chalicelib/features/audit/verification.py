"""Verification of a log: recomputes its tree from its entries, a window a request, against its signed head."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.features.audit import anchors
from chalicelib.features.audit import log as logs
from chalicelib.features.audit.anchors import BrokenAnchor
from chalicelib.features.audit.rules import Fault, Verified, head_fault
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.entry_macs import public_keys
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head, Outbox, count_pending, head_key, origin, sequence_key
from chalicelib.kernel.audit_log.mac_chains import End, Link, chain_key, chain_keys, links_of
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement, Missing, Statement
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import BadSignature, Checkpoint, NoteError
from chalicelib.kernel.crypto.merkle import EMPTY_ROOT
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition

_SETTLING_SECONDS: Final = (0.2, 0.5)
"""After how long, again and again, what seems to be missing is looked for once more."""

WINDOW: Final = 5_000
"""Entries verified in one request."""


@dataclass(frozen=True)
class Progress:
    """How far verification is: the head that was signed when it began, and the tree of what was verified since.

    `anchor` is the note of the newest anchor there was then; empty if there was none. `suppressed`: how many entries
    had been taken away by then before they had their place.
    """

    note: str
    size: int
    anchor: str
    verified: Verified
    suppressed: int = 0

    def position(self) -> dict[str, Any]:
        """Return it as a cursor keeps it."""
        known = {"note": self.note, "size": self.size, "anchor": self.anchor, "suppressed": self.suppressed}
        return {**known, **self.verified.position()}

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
        suppressed = position.get("suppressed", 0)
        return cls(position["note"], position["size"], position["anchor"], Verified.at(position), suppressed)


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
    """Verify one window of a log, from a position or from its beginning.

    It is held against its newest anchor and a checkpoint that somebody kept: it has to begin with both. Raises Invalid
    if `kept_note` is no checkpoint of this log, Problem `unavailable` if the anchors can't be read.
    """
    if position:
        progress, fault, waiting = Progress.at(position), None, count_pending(log)
    else:
        outbox = Outbox.read(log)  # Before the head is: what is appended meanwhile is in the tree, not nowhere.
        (progress, fault), waiting = _begun(log, outbox), len(outbox.pointers) + len(outbox.forged)
    kept = _kept_checkpoints(log, progress, kept_note)
    if isinstance(kept, Fault):
        return Outcome(progress, kept, waiting)
    if any(checkpoint.size > progress.size for checkpoint in kept):
        fault = fault or Fault("truncated", progress.size + 1)
    result = fault or _advance(log, progress, kept)
    return Outcome(progress, result, waiting) if isinstance(result, Fault) else Outcome(result, None, waiting)


def _begun(log: str, outbox: Outbox) -> tuple[Progress, Fault | None]:
    """Return where verification begins, and what is wrong there already."""
    forged = Fault("bad_signature", None)
    try:
        # The anchor is read before the head: a log that nobody cut off is never the shorter of the two.
        anchor, broken = anchors.newest(log), None
    except BrokenAnchor as error:
        add_fields(brokenAnchor=str(error))
        anchor, broken = None, forged
    head = _head(log)
    if head is None:
        return Progress("", 0, "", Verified()), forged
    progress = Progress(head.note, head.tree.size, anchor.note if anchor else "", Verified())
    if not progress.size and not (outbox.pointers or outbox.forged):
        # The first entry of a log is written with the log: one that has none, and waits for none, has lost it.
        return progress, broken or Fault("truncated", 1)
    if broken := broken or (head_fault(log, head) if progress.size else None):
        return progress, broken
    try:
        statement = head.stated(log) or (None if progress.size else Statement())
    except BrokenStatement:
        return progress, forged
    since = statement.since if statement else progress.size
    suppressed = _count_suppressed(log, statement, outbox) if statement else 0
    return replace(progress, verified=Verified(since=since), suppressed=suppressed), None


def _count_suppressed(log: str, statement: Statement, outbox: Outbox) -> int:
    """Return how many entries were taken away before they had their place, by a statement read after an outbox.

    A Query may show a transaction half done: so what seems to be missing is looked for again.
    """
    missing = _missing(log, statement, outbox)
    for seconds in _SETTLING_SECONDS:
        if not missing.number:
            break
        time.sleep(seconds)
        again = Outbox.read(log)
        present = _stated(log)
        missing = missing.confirmed_by(_missing(log, present, again)) if present else missing
    return statement.lost + missing.number


def _stated(log: str) -> Statement | None:
    try:
        head = _head(log)
        return head.stated(log) or Statement() if head else None
    except BrokenStatement:
        return None


def _missing(log: str, statement: Statement, outbox: Outbox) -> Missing:
    """Return what is missing; nothing if there are pointers that were not read."""
    if not outbox.complete:
        return Missing()
    behind = statement.ahead_of(outbox.ends)
    items = table.get_all(chain_keys(log, behind)) if behind else {}
    ends_by_now = {shard: End.of(items.get(chain_key(log, shard))) for shard in behind}
    return statement.missing(outbox.ends, _waiting(log, statement, outbox), ends_by_now)


def _waiting(log: str, statement: Statement, outbox: Outbox) -> set[Link]:
    """Return the links that wait for their place.

    A pointer that comes late, or that nothing is due of, may have been put back without its entry: that is looked for.
    """
    pointers = {each.link: pointer for pointer in outbox.pointers for each in links_of([pointer])}
    doubtful = {
        link: EntryItem.make_item_key(log_id=log, id=pointer["sk"])
        for link, pointer in pointers.items()
        if "duesk" not in pointer or statement.reached(link.shard).lacks(link.number)
    }
    entries = table.get_all(doubtful.values(), ("pk", "sk", "sequence")) if doubtful else {}
    return {
        link
        for link in pointers
        if link not in doubtful or "sequence" not in entries.get(doubtful[link], {"sequence": 0})
    }


def _head(log: str) -> Head | None:
    """Return a log's head, or None if it is not as the ledger wrote it."""
    try:
        return Head.of(table.get(head_key(log)))
    except BrokenHead:
        return None


def _kept_checkpoints(log: str, progress: Progress, note: str | None) -> list[Checkpoint] | Fault:
    """Return what the log has to begin with; an anchor was verified when verification began."""
    anchored = [checkpoints.parse(progress.anchor).checkpoint] if progress.anchor else []
    kept = _kept_checkpoint(log, note) if note else None
    if isinstance(kept, Fault):
        return kept
    return [*anchored, kept] if kept else anchored


def _kept_checkpoint(log: str, note: str) -> Checkpoint | Fault:
    try:
        checkpoint = checkpoints.verify(note, public_keys())
    except BadSignature:
        return Fault("bad_signature", None)
    except NoteError as error:
        raise ValidationProblem(
            [FieldError("query/checkpoint", "malformed", f"This is no checkpoint: {error}.")]
        ) from None
    if checkpoint.origin != origin(log):
        raise ValidationProblem(
            [FieldError("query/checkpoint", "malformed", f"This is a checkpoint of {checkpoint.origin}.")]
        )
    return checkpoint


def _advance(log: str, progress: Progress, kept: Sequence[Checkpoint]) -> Progress | Fault:
    verified = progress.verified
    stop = min(progress.size, verified.tree.size + WINDOW)
    # What is kept is compared exactly where it ends.
    ends = {checkpoint.size for checkpoint in kept if verified.tree.size < checkpoint.size < stop}
    for end in [*sorted(ends), stop]:
        result = verify_up_to(log, verified, end)
        if isinstance(result, Fault):
            return result if _continues(log, result, progress.size) else Fault("truncated", result.sequence)
        verified = result
        if any(c.size == verified.tree.size and c.root != verified.tree.root() for c in kept):
            return Fault("forked", None)
    if verified.tree.size == progress.size and (fault := _end_fault(log, progress, verified)):
        return fault
    return replace(progress, verified=verified)


def _end_fault(log: str, progress: Progress, verified: Verified) -> Fault | None:
    """Return what is wrong once all is verified: another root than the signed one, or entries behind the head."""
    if verified.tree.root() != progress.root:
        return Fault("forked", None)
    pk, following = sequence_key(log, progress.size + 1)
    beyond = table.query(Partition(pk, "index1"), since=following, limit=1).items
    head_now = _head(log) if beyond else None
    grown = head_now is not None and head_now.tree.size > progress.size
    return Fault("forked", progress.size + 1) if beyond and not grown else None


def verify_up_to(log: str, verified: Verified, end: int) -> Verified | Fault:
    """Return the verified log with the entries up to a sequence, or the first fault among them."""
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

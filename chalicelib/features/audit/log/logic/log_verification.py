"""Verification of a log. Recomputes its Merkle tree, one window per request, and compares it with the signed head."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.features.audit.log.logic import anchors
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.anchors import BrokenAnchor
from chalicelib.features.audit.log.logic.entry_verification import Fault, VerifiedPrefix, find_head_fault
from chalicelib.features.audit.log.logic.missing_links import MissingLinks, find_missing_links, list_shards_behind_tree
from chalicelib.kernel.audit_log.entries import entry_key
from chalicelib.kernel.audit_log.entry_macs import current_and_former_public_keys
from chalicelib.kernel.audit_log.ledger import (
    BrokenHead,
    Head,
    Outbox,
    checkpoint_origin,
    count_pending_in_one_read,
    head_key,
    sequence_index_or_batch_key,
)
from chalicelib.kernel.audit_log.mac_chains import ChainEnd, Link, chain_key, chain_keys, links_with_macs
from chalicelib.kernel.audit_log.signed_statements import BrokenStatement, Statement
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import BadSignature, Checkpoint, NoteError
from chalicelib.kernel.crypto.merkle import EMPTY_ROOT
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition

_RECHECK_SECONDS: Final = (0.2, 0.5)
"""Delays before looking again for entries that seem to be missing."""

WINDOW_ENTRIES: Final = 5_000
"""The number of entries verified in one request."""


@dataclass(frozen=True)
class VerificationProgress:
    """The state of a verification: the head signed when it began, and the prefix verified so far.

    `anchor_note`: the note of the newest anchor at that time, or empty. `suppressed_count`: entries that had been
    removed by then before they received a sequence. `is_anchor_rewritten`: somebody wrote the anchor's file again.
    """

    note: str
    head_size: int
    anchor_note: str
    verified: VerifiedPrefix
    suppressed_count: int = 0
    is_anchor_rewritten: bool = False

    def to_cursor_position(self) -> dict[str, Any]:
        """Return the state as it is stored in a cursor."""
        head_fields = {
            "note": self.note,
            "size": self.head_size,
            "anchor": self.anchor_note,
            "suppressed": self.suppressed_count,
            "rewritten": self.is_anchor_rewritten,
        }
        return {**head_fields, **self.verified.to_cursor_position()}

    @property
    def signed_root(self) -> bytes:
        """Return the root in the signed head or, without a head, the root of the empty tree."""
        try:
            return checkpoints.parse(self.note).checkpoint.root
        except NoteError:
            return EMPTY_ROOT

    @classmethod
    def from_cursor_position(cls, position: dict[str, Any]) -> "VerificationProgress":
        """Return the state that a cursor holds."""
        return cls(
            position["note"],
            position["size"],
            position["anchor"],
            VerifiedPrefix.from_cursor_position(position),
            position.get("suppressed", 0),
            position.get("rewritten", False),
        )


@dataclass(frozen=True)
class VerificationResult:
    """The result of one request: the progress, the fault if any, and the number of entries still without a sequence."""

    progress: VerificationProgress
    fault: Fault | None
    pending_count: int

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is left to verify."""
        return self.fault is not None or self.progress.verified.tree.size == self.progress.head_size


def verify_next_window(
    log_id: str, cursor_position: dict[str, Any] | None, client_note: str | None
) -> VerificationResult:
    """Verify one window of a log, from a cursor position or from the beginning.

    The log has to begin with its newest anchor and with the client's checkpoint. Raises ValidationProblem if
    `client_note` is not a checkpoint of this log, and Problem `unavailable` if the anchors can't be read.
    """
    if cursor_position:
        progress, fault, pending_count = (
            VerificationProgress.from_cursor_position(cursor_position),
            None,
            count_pending_in_one_read(log_id),
        )
    else:
        outbox = Outbox.read(log_id)  # Read before the head, so entries appended meanwhile are already in the tree.
        (progress, fault), pending_count = (
            _load_initial_progress_and_fault(log_id, outbox),
            len(outbox.pointers) + len(outbox.forged),
        )
    trusted = _anchor_and_client_checkpoints_or_signature_fault(log_id, progress, client_note)
    if isinstance(trusted, Fault):
        return VerificationResult(progress, trusted, pending_count)
    if any(checkpoint.size > progress.head_size for checkpoint in trusted):
        fault = fault or Fault("truncated", progress.head_size + 1)
    result = fault or _progress_after_window_or_fault(log_id, progress, trusted)
    return (
        VerificationResult(progress, result, pending_count)
        if isinstance(result, Fault)
        else VerificationResult(result, None, pending_count)
    )


def _load_initial_progress_and_fault(log_id: str, outbox: Outbox) -> tuple[VerificationProgress, Fault | None]:
    """Return the initial progress, and the fault if one is visible already."""
    forged_fault = Fault("bad_signature", None)
    try:
        # The anchor is read before the head, so an intact log is never shorter than its anchor.
        anchor, anchor_fault = anchors.load_latest_anchor_or_none(log_id), None
    except BrokenAnchor as error:
        add_fields(brokenAnchor=str(error))
        anchor, anchor_fault = None, forged_fault
    head = _load_head_or_none_if_broken(log_id)
    if head is None:
        return VerificationProgress("", 0, "", VerifiedPrefix()), forged_fault
    progress = VerificationProgress(
        head.note,
        head.tree.size,
        anchor.head.note if anchor else "",
        VerifiedPrefix(),
        is_anchor_rewritten=anchor is not None and anchor.is_rewritten,
    )
    if not progress.head_size and not (outbox.pointers or outbox.forged):
        # A log is created together with its first entry, so an empty log without pending entries has lost it.
        return progress, anchor_fault or Fault("truncated", 1)
    if anchor_fault := anchor_fault or (find_head_fault(log_id, head) if progress.head_size else None):
        return progress, anchor_fault
    try:
        statement = head.verified_statement_if_present(log_id) or (None if progress.head_size else Statement())
    except BrokenStatement:
        return progress, forged_fault
    chained_since_size = statement.since if statement else progress.head_size
    suppressed_count = _count_entries_removed_before_sequencing(log_id, statement, outbox) if statement else 0
    return replace(
        progress, verified=VerifiedPrefix(chained_since_size=chained_since_size), suppressed_count=suppressed_count
    ), None


def _count_entries_removed_before_sequencing(log_id: str, statement: Statement, outbox: Outbox) -> int:
    """Return how many entries were removed before they received a sequence. The statement is newer than the outbox.

    A Query may show half of a transaction, so entries that seem to be missing are looked for again.
    """
    missing = _load_missing_links(log_id, statement, outbox)
    for seconds in _RECHECK_SECONDS:
        if not missing.count:
            break
        time.sleep(seconds)
        outbox_now = Outbox.read(log_id)
        statement_now = _load_intact_statement_or_none(log_id)
        missing = (
            missing.intersect(_load_missing_links(log_id, statement_now, outbox_now)) if statement_now else missing
        )
    return statement.lost + missing.count


def _load_intact_statement_or_none(log_id: str) -> Statement | None:
    try:
        head = _load_head_or_none_if_broken(log_id)
        return head.verified_statement_if_present(log_id) or Statement() if head else None
    except BrokenStatement:
        return None


def _load_missing_links(log_id: str, statement: Statement, outbox: Outbox) -> MissingLinks:
    """Return the missing chain links, or none if the outbox was not read completely."""
    if not outbox.complete:
        return MissingLinks()
    lagging_shards = list_shards_behind_tree(statement, outbox.ends)
    items = table.get_all(chain_keys(log_id, lagging_shards)) if lagging_shards else {}
    current_ends = {shard: ChainEnd.from_item_or_empty(items.get(chain_key(log_id, shard))) for shard in lagging_shards}
    return find_missing_links(statement, outbox.ends, _find_pending_links(log_id, statement, outbox), current_ends)


def _find_pending_links(log_id: str, statement: Statement, outbox: Outbox) -> set[Link]:
    """Return the links of entries that are still pending.

    A pointer that is late, or no longer scheduled, may have been put back without its entry. Its entry is loaded to
    verify that it exists.
    """
    pointers = {each.link: pointer for pointer in outbox.pointers for each in links_with_macs([pointer])}
    links_to_check = {
        link: entry_key(log_id, pointer["sk"])
        for link, pointer in pointers.items()
        if "duesk" not in pointer or statement.chain_state(link.shard).is_link_number_missing(link.number)
    }
    entries = table.get_all(links_to_check.values(), ("pk", "sk", "sequence")) if links_to_check else {}
    return {
        link
        for link in pointers
        if link not in links_to_check or "sequence" not in entries.get(links_to_check[link], {"sequence": 0})
    }


def _load_head_or_none_if_broken(log_id: str) -> Head | None:
    """Return the head of a log, or None if it is invalid."""
    try:
        return Head.from_item_or_empty(table.get(head_key(log_id)))
    except BrokenHead:
        return None


def _anchor_and_client_checkpoints_or_signature_fault(
    log_id: str, progress: VerificationProgress, client_note: str | None
) -> list[Checkpoint] | Fault:
    """Return the checkpoints that the log has to begin with. The anchor was verified when the verification began."""
    from_anchor = [checkpoints.parse(progress.anchor_note).checkpoint] if progress.anchor_note else []
    from_client = _verified_client_checkpoint_or_fault(log_id, client_note) if client_note else None
    if isinstance(from_client, Fault):
        return from_client
    return [*from_anchor, from_client] if from_client else from_anchor


def _verified_client_checkpoint_or_fault(log_id: str, client_note: str) -> Checkpoint | Fault:
    try:
        checkpoint = checkpoints.verify_checkpoint_note(client_note, current_and_former_public_keys())
    except BadSignature:
        return Fault("bad_signature", None)
    except NoteError as error:
        raise ValidationProblem(
            [FieldError("query/checkpoint", "malformed", f"This is not a valid checkpoint: {error}.")]
        ) from None
    if checkpoint.origin != checkpoint_origin(log_id):
        raise ValidationProblem(
            [
                FieldError(
                    "query/checkpoint", "malformed", f"This checkpoint belongs to another log, {checkpoint.origin}."
                )
            ]
        )
    return checkpoint


def _progress_after_window_or_fault(
    log_id: str, progress: VerificationProgress, trusted_checkpoints: Sequence[Checkpoint]
) -> VerificationProgress | Fault:
    verified = progress.verified
    stop = min(progress.head_size, verified.tree.size + WINDOW_ENTRIES)
    # Compare each trusted checkpoint at exactly its own size.
    comparison_sizes = {
        checkpoint.size for checkpoint in trusted_checkpoints if verified.tree.size < checkpoint.size < stop
    }
    for end in [*sorted(comparison_sizes), stop]:
        result = load_extended_prefix_or_fault(log_id, verified, end)
        if isinstance(result, Fault):
            return (
                result
                if _has_entries_from_fault_on(log_id, result, progress.head_size)
                else Fault("truncated", result.sequence)
            )
        verified = result
        if any(c.size == verified.tree.size and c.root != verified.tree.root_hash() for c in trusted_checkpoints):
            return Fault("forked", None)
    if verified.tree.size == progress.head_size and (fault := _find_root_or_trailing_fault(log_id, progress, verified)):
        return fault
    return replace(progress, verified=verified)


def _find_root_or_trailing_fault(log_id: str, progress: VerificationProgress, verified: VerifiedPrefix) -> Fault | None:
    """Return the fault at the end of the log: a root that differs from the signed one, or entries after the head."""
    if verified.tree.root_hash() != progress.signed_root:
        return Fault("forked", None)
    pk, next_sort_key = sequence_index_or_batch_key(log_id, progress.head_size + 1)
    later_items = table.query(Partition(pk, "index1"), since=next_sort_key, limit=1).items
    current_head = _load_head_or_none_if_broken(log_id) if later_items else None
    has_grown = current_head is not None and current_head.tree.size > progress.head_size
    return Fault("forked", progress.head_size + 1) if later_items and not has_grown else None


def load_extended_prefix_or_fault(log_id: str, verified: VerifiedPrefix, last_sequence: int) -> VerifiedPrefix | Fault:
    """Return the prefix extended up to a sequence, or the first fault."""
    for entries in logs.iter_sequenced_entry_chunks(log_id, verified.tree.size, last_sequence):
        if not entries:
            return Fault("missing", verified.tree.size + 1)
        result = verified.with_verified_entries_or_fault(log_id, entries)
        if isinstance(result, Fault):
            return result
        verified = result
    return verified


def _has_entries_from_fault_on(log_id: str, fault: Fault, last_sequence: int) -> bool:
    """Return whether any entry exists at or after the fault. If none does, the log was truncated there."""
    if fault.failure != "missing" or fault.sequence is None:
        return True
    return any(logs.iter_sequenced_entry_chunks(log_id, fault.sequence - 1, last_sequence))

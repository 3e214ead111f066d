"""Hourly anchoring: verifies the new entries of all logs that grew, and stores the logs' heads outside the table."""

import time
from itertools import zip_longest
from typing import Any, Final

from chalicelib.features.audit.log.logic import anchors, unanchored_heads
from chalicelib.features.audit.log.logic.anchors import BrokenAnchor
from chalicelib.features.audit.log.logic.entry_verification import Fault, VerifiedPrefix, find_head_fault
from chalicelib.features.audit.log.logic.log_verification import WINDOW_ENTRIES, load_extended_prefix_or_fault
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.execution import pagination
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.work import jobs, queues
from chalicelib.kernel.work.tasks import task

_TASK: Final = "audit.anchor"
_QUEUE_TIMEOUT_SECONDS: Final = 600
_INDEX_LAG_SECONDS: Final = 60
"""Grace period for the sequence index. An entry that it lacks after that counts as missing."""


def queue_anchor_tasks() -> int:
    """Queue a task for every log that grew since its last anchor, and return how many were queued.

    In each shard the logs that have waited longest come first. The next run continues where this one ran out of time.
    """
    queued_count, ends_at = 0, time.monotonic() + _QUEUE_TIMEOUT_SECONDS
    for pages in zip_longest(
        *map(unanchored_heads.iter_unanchored_head_pages, range(ledger.UNANCHORED_SHARDS)), fillvalue=[]
    ):
        for head in (head for page in pages for head in page):
            queues.enqueue(_TASK, (head["pk"], head["sk"]))
            queued_count += 1
        if time.monotonic() > ends_at:
            break
    return queued_count


@task(_TASK)
def anchor_log(message: dict[str, Any]) -> None:
    """Anchor the head of a log after verifying that the entries since the last anchor lead to it.

    A log that was forked, truncated or altered is not anchored. The task's log record gives the reason, and the metric
    AnchorsRefused counts it. The log stays marked, so each hourly run refuses it again until somebody investigates.
    A long log is verified in slices. Each stores its position in the head, where the next one continues.
    """
    log_id = message["pk"].partition("#")[2]
    add_fields(tenant=log_id)
    if not settings().anchors_bucket:
        return
    try:
        # The anchor is read before the head, so an intact log is never shorter than its anchor.
        anchor = anchors.load_latest_anchor_or_none(log_id)
        latest_head = anchor.head if anchor else Head.from_item_or_empty(None)
        head_item = table.get(ledger.head_key(log_id)) or {}
        head = Head.from_item_or_empty(head_item)
    except (BrokenAnchor, BrokenHead):
        _report_refused_anchor(Fault("bad_signature", None))
        return
    result = _extend_prefix_toward_head_or_fault(
        log_id, latest_head, head, _verified_prefix_from_head_item(head_item, log_id, latest_head)
    )
    if isinstance(result, Fault) and result.failure == "missing" and "again" not in message:
        queues.enqueue_message({**message, "again": "yes"}, delay_seconds=_INDEX_LAG_SECONDS)
    elif isinstance(result, Fault):
        _report_refused_anchor(result)
    elif result.tree.size < head.tree.size:
        position = pagination.encode_cursor(result.to_cursor_position(), _cursor_binding(log_id, latest_head))
        if unanchored_heads.try_store_anchoring_position(log_id, head_item, position):
            queues.enqueue_message({name: value for name, value in message.items() if name != "again"})
        else:
            add_fields(contended=True)  # Another worker verifies the same entries, and continues.
    elif head.tree == latest_head.tree or anchors.store_anchor_if_absent(log_id, head):
        if head.tree.size and section(WitnessSettings).witnesses:
            anchored_checkpoints.store_if_absent(log_id, head)
        unanchored_heads.mark_anchored_if_size_unchanged(log_id, head.tree.size)
        add_fields(anchored=head.tree.size)


def _extend_prefix_toward_head_or_fault(
    log_id: str, anchored_head: Head, head: Head, verified: VerifiedPrefix
) -> VerifiedPrefix | Fault:
    """Return the prefix verified in this run, or the fault that separates the anchor from the head."""
    if head.tree.size < anchored_head.tree.size:
        return Fault("truncated", head.tree.size + 1)
    if head.tree.size > anchored_head.tree.size and (fault := find_head_fault(log_id, head)):
        return fault
    ends_at = jobs.slice_deadline_monotonic()
    while verified.tree.size < head.tree.size:
        result = load_extended_prefix_or_fault(
            log_id, verified, min(head.tree.size, verified.tree.size + WINDOW_ENTRIES)
        )
        if isinstance(result, Fault):
            return result
        verified = result
        if time.monotonic() > ends_at:
            break
    forked = verified.tree.size >= head.tree.size and verified.tree.root_hash() != head.tree.root_hash()
    return Fault("forked", None) if forked else verified


def _verified_prefix_from_head_item(head_item: Item, log_id: str, anchored_head: Head) -> VerifiedPrefix:
    """Return the prefix that earlier slices verified from the same anchor, from the signed position in the head."""
    try:
        return VerifiedPrefix.from_cursor_position(
            pagination.decode_cursor(
                unanchored_heads.anchoring_position(head_item), _cursor_binding(log_id, anchored_head)
            )
        )
    except Problem as problem:
        if problem.code != "invalid_cursor":
            raise
        return VerifiedPrefix(anchored_head.tree)


def _cursor_binding(log_id: str, anchored_head: Head) -> str:
    return f"{_TASK}:{log_id}:{anchored_head.note}"


def _report_refused_anchor(fault: Fault) -> None:
    add_fields(refused=fault.failure, sequence=fault.sequence)
    add_metrics(AnchorsRefused=1)

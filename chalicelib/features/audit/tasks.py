"""Anchoring: once an hour the heads of all logs that grew are kept outside of the table, if they are what they were."""

import time
from itertools import zip_longest
from typing import Any, Final

from chalicelib.features.audit import anchors
from chalicelib.features.audit.anchors import BrokenAnchor
from chalicelib.features.audit.rules import Fault, Verified, head_fault
from chalicelib.features.audit.verification import WINDOW, verify_up_to
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import BrokenHead, Head
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution import pagination
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs, queues
from chalicelib.kernel.work.tasks import task

_TASK: Final = "audit.anchor"
_QUEUING_SECONDS: Final = 600
_INDEX_SECONDS: Final = 60
"""How long the sequence index may take to show what the table has, before that counts as missing."""


def queue_anchors() -> int:
    """Queue the anchoring of every log that grew since its anchor, and return how many these are.

    Those that have waited for longest come first in each shard; what this turn has no time for is left for the next.
    """
    queued, ends_at = 0, time.monotonic() + _QUEUING_SECONDS
    for pages in zip_longest(*map(ledger.unanchored_heads, range(ledger.UNANCHORED_SHARDS)), fillvalue=[]):
        for head in (head for page in pages for head in page):
            queues.enqueue(_TASK, (head["pk"], head["sk"]))
            queued += 1
        if time.monotonic() > ends_at:
            break
    return queued


@task(_TASK)
def anchor(message: dict[str, Any]) -> None:
    """Anchor a log's head, once the entries since the last anchor are seen to lead from that to this head.

    A log that was forked, cut off or altered is not anchored: the message's line says why, and the measure
    AnchorsRefused counts it. Its mark stays, so that it is refused anew each hour until somebody has looked.
    """
    log = message["pk"].partition("#")[2]
    add_fields(tenant=log)
    if not settings().anchors_bucket:
        return
    try:
        # In this order, as verification does: a log that nobody cut off is never shorter than its anchor.
        newest = anchors.newest(log) or Head.of(None)
        head = Head.of(table.get(ledger.head_key(log)))
    except (BrokenAnchor, BrokenHead):
        _refuse(Fault("bad_signature", None))
        return
    result = _follow(log, newest, head, _reached(message, log, newest))
    if isinstance(result, Fault) and result.failure == "missing" and "again" not in message:
        queues.forward({**message, "again": "yes"}, seconds=_INDEX_SECONDS)
    elif isinstance(result, Fault):
        _refuse(result)
    elif result.tree.size < head.tree.size:
        reached = pagination.encode_cursor(result.position(), _binding(log, newest))
        queues.forward({**message, "reached": reached})
    elif head.tree == newest.tree or anchors.write(log, head):
        ledger.mark_anchored(log, head.tree.size)
        add_fields(anchored=head.tree.size)


def _follow(log: str, newest: Head, head: Head, verified: Verified) -> Verified | Fault:
    """Return the log as far as this turn has verified it, or why it does not lead from its anchor to its head."""
    if head.tree.size < newest.tree.size:
        return Fault("truncated", head.tree.size + 1)
    if head.tree.size > newest.tree.size and (fault := head_fault(log, head)):
        return fault
    ends_at = jobs.slice_ends_at()
    while verified.tree.size < head.tree.size:
        result = verify_up_to(log, verified, min(head.tree.size, verified.tree.size + WINDOW))
        if isinstance(result, Fault):
            return result
        verified = result
        if time.monotonic() > ends_at:
            break
    forked = verified.tree.size >= head.tree.size and verified.tree.root() != head.tree.root()
    return Fault("forked", None) if forked else verified


def _reached(message: dict[str, Any], log: str, newest: Head) -> Verified:
    """Return how far earlier turns came from the same anchor: a message says it, but only as this service wrote it."""
    try:
        return Verified.at(pagination.decode_cursor(message["reached"], _binding(log, newest)))
    except (KeyError, Problem):
        return Verified(newest.tree)


def _binding(log: str, newest: Head) -> str:
    return f"{_TASK}:{log}:{newest.note}"


def _refuse(fault: Fault) -> None:
    add_fields(refused=fault.failure, sequence=fault.sequence)
    add_metrics(AnchorsRefused=1)

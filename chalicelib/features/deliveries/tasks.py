"""Tasks that queue due or lost deliveries, and delete those of deleted subscribers."""

import time
from typing import Any, Final

from chalicelib.features.deliveries import lots
from chalicelib.features.deliveries.entities import QUEUE, Clearing
from chalicelib.features.deliveries.log_consumer import Cursor
from chalicelib.features.deliveries.sending import delivery_at, is_due
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import head_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_FAN_OUT_WAIT_SECONDS: Final = 60
"""Pause until the job checks again whether the fan-out has passed the last entry."""


@task(QUEUE)
def queue_delivery(message: dict[str, Any]) -> None:
    """Queue a due delivery after the messages that are queued for its subscriber."""
    delivery = delivery_at((message["pk"], message["sk"]))
    if delivery and is_due(delivery):
        lots.queue([(lots.subscriber_key(delivery), [delivery])])


@task(Clearing.task)
def clear_behind_subscriber(message: dict[str, Any]) -> None:
    """Delete the deliveries of a deleted subscriber, until the fan-out creates no more of them.

    If the fan-out stays blocked for long, deliveries that it creates later remain until they expire.
    """
    clearing, ends_at = jobs.claim(Clearing, message), jobs.slice_ends_at()
    if clearing is None:
        return
    is_finished = clearing.failures > jobs.MAX_FAILURES
    if not is_finished:
        clearing = clearing if clearing.until else _start(clearing)
        is_finished = Cursor.of(table.get(head_key(clearing.organization_id))).sequence >= (clearing.until or 0)
    while table.delete_batch(clearing.partition):
        if time.monotonic() > ends_at:
            jobs.release(clearing)
            return
    if is_finished:
        jobs.remove(clearing)
    else:
        jobs.release(clearing, seconds=_FAN_OUT_WAIT_SECONDS)


def _start(clearing: Clearing) -> Clearing:
    """Return the job with the size of the log, once the log contains the entry of the deletion."""
    ledger.append_pending(clearing.organization_id)
    head = table.get(head_key(clearing.organization_id)) or {}
    return jobs.checkpoint(clearing, until=int(head.get("size", 0)))

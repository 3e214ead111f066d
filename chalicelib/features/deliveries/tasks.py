"""Queueing a delivery whose time has come, or whose message was lost; removing those of a subscriber that is gone."""

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

_PAUSE_SECONDS: Final = 60
"""Until the log is looked at again, whose last entries are not delivered yet."""


@task(QUEUE)
def queue_delivery(message: dict[str, Any]) -> None:
    """Queue a delivery that is due behind what else waits for its subscriber."""
    delivery = delivery_at((message["pk"], message["sk"]))
    if delivery and is_due(delivery):
        lots.queue([(lots.subscriber_key(delivery), [delivery])])


@task(Clearing.task)
def clear_behind_subscriber(message: dict[str, Any]) -> None:
    """Remove the deliveries of a subscriber that is gone, until the log brings no more of them.

    If the log can't be followed for long, those that it brings later stay until they expire.
    """
    clearing, ends_at = jobs.claim(Clearing, message), jobs.slice_ends_at()
    if clearing is None:
        return
    over = clearing.failures > jobs.MAX_FAILURES
    if not over:
        clearing = clearing if clearing.until else _begun(clearing)
        over = Cursor.of(table.get(head_key(clearing.organization_id))).sequence >= (clearing.until or 0)
    while table.delete_batch(clearing.partition):
        if time.monotonic() > ends_at:
            jobs.release(clearing)
            return
    if over:
        jobs.remove(clearing)
    else:
        jobs.release(clearing, seconds=_PAUSE_SECONDS)


def _begun(clearing: Clearing) -> Clearing:
    """Return the clearing with the size of the log once the entry is in it that says that the subscriber is gone."""
    ledger.append_pending(clearing.organization_id)
    head = table.get(head_key(clearing.organization_id)) or {}
    return jobs.checkpoint(clearing, until=int(head.get("size", 0)))

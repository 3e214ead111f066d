"""The worker of a log stream: sends the waiting entries in batches, in the order of the log and at least once.

The position in the progress of the stream advances after the destination has accepted a batch. So a crash repeats at
most the last batch. A worker moves `due_at` into the future before it sends a batch. Each write requires that nobody
else has moved it, so a second worker stops, and a request that pauses or restarts the stream takes effect at once. If a
worker dies, the stream is due again at that time.

The same write stores the last sequence of the batch. A repeated batch thus contains the same entries, although the log
has grown meanwhile. A change of the stream makes another batch of them.

If a destination rejects a batch as too large, half of it is sent at once. The size doubles again after ten accepted
batches in a row, so a destination with a small limit rejects few of them. Wireless networks find their rates in this
way (Automatic Rate Fallback: Kamerman and Monteban, "WaveLAN-II", Bell Labs Technical Journal, 1997).
"""

import random
from dataclasses import replace
from http import HTTPStatus
from math import ceil
from typing import Any, Final

from chalicelib.features.notifications.entities import MAX_BATCH_WAIT_SECONDS, START_STREAM_TASK
from chalicelib.features.notifications.log_streams.entities import (
    HEALTHY_FIELDS,
    NO_PLAN_FIELDS,
    LogStream,
    StreamProgress,
)
from chalicelib.features.notifications.log_streams.logic.destination_requests import send_batch
from chalicelib.features.notifications.log_streams.logic.entry_batches import (
    MAX_BATCH_ENTRIES,
    EntryBatch,
    UnreadableNextEntry,
    load_next_batch,
)
from chalicelib.features.notifications.log_streams.logic.stream_state import (
    StreamState,
    load_state_or_none,
    store_progress,
)
from chalicelib.features.notifications.logic.retry_schedule import next_attempt_at
from chalicelib.features.notifications.webhooks.logic.webhook_requests import failure_reason
from chalicelib.kernel.core.clock import after, now, now_ms, sleep_with_jittered_backoff, timestamp_ms
from chalicelib.kernel.core.logs import log_and_ignore_aws_errors, log_event
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.work import queues

SEND_TASK: Final = "log_streams.send"
"""The task that sends the waiting entries of a stream."""

RETRY_SECONDS: Final = (5, 30, 60, 300, 900, 1_800)
"""Pauses of a log stream after failed attempts. The last one is repeated until the stream is disabled."""

LEASE_SECONDS: Final = 90
"""Time after which the worker of a log stream counts as dead: longer than a batch takes to be read and sent."""

_UNLISTED_SECONDS: Final = 60
"""Pause until a stream checks again whether the fan-out knows it. That takes a moment after its creation."""

_BATCHES_BEFORE_GROWTH: Final = 10
"""Accepted batches in a row after which batches grow again, once one was too large."""

_CLOCK_SKEW_SECONDS: Final = 1
_MAX_CONFLICTS: Final = 5


def build_message(progress: StreamProgress) -> dict[str, Any]:
    """Return the message that starts the worker of a stream. It has the key of the stream."""
    pk, sk = stream_key(progress)
    return {"task": SEND_TASK, "pk": pk, "sk": sk}


def stream_key(progress: StreamProgress) -> ItemKey:
    """Return the item key of the stream with a progress."""
    return LogStream.make_item_key(organization_id=progress.organization_id, id=progress.id)


def is_due(progress: StreamProgress) -> bool:
    """Return whether a worker has to continue now: at its time, or because entries for a full batch wait for others."""
    if progress.due_at is None:
        return False
    return _is_due_in(progress.due_at, _CLOCK_SKEW_SECONDS) or (
        progress.fanned_out_sequence - progress.position >= MAX_BATCH_ENTRIES
        and progress.planned_until is None
        and progress.failing_since is None
        and _is_due_in(progress.due_at, MAX_BATCH_WAIT_SECONDS)  # Otherwise a worker reads the next batch.
    )


def _is_due_in(due_at: str, seconds: int) -> bool:
    return due_at <= after(now(), seconds=seconds)


def send_waiting_batches(message: dict[str, Any], deadline_ms: float) -> None:
    """Send batches until a deadline in milliseconds since 1970, at least one.

    Raises ConcurrentModification if another worker or a request has taken over.
    """
    state = _load_state_or_none(message)
    if state is None or not is_due(state.progress) or state.progress.pending_disable_reason:
        return
    next_state = _send_next_batch_and_continue_or_none(message, state)
    while next_state is not None:
        if now_ms() >= deadline_ms:
            _queue_next(store_progress(next_state.progress, due_at=now()))
            return
        next_state = _send_next_batch_and_continue_or_none(message, next_state)


def _load_state_or_none(message: dict[str, Any]) -> StreamState | None:
    organization_id, stream_id = (message[name].partition("#")[2] for name in ("pk", "sk"))
    return load_state_or_none(organization_id, stream_id)


def _send_next_batch_and_continue_or_none(message: dict[str, Any], state: StreamState) -> StreamState | None:
    """Send a batch if entries wait. Return the state if this worker continues, None if it stops.

    Raises ConcurrentModification.
    """
    stream, progress = state.stream, state.progress
    if stream is None or not state.sends or progress.position >= state.log_size:
        return _store_success(message, state, EntryBatch(progress.position + 1, progress.position))
    try:
        batch = load_next_batch(stream, progress.position, _last_sequence_to_send(stream, state))
    except UnreadableNextEntry as unreadable:
        unreadable_batch = EntryBatch(progress.position + 1, progress.position + 1)
        return _store_failure(state, stream, unreadable_batch, WebhookResponse.of_unsent_request(str(unreadable)))
    if not batch.entries:
        return _store_success(message, state, batch)
    state = _store_plan(state, stream, batch)
    response = send_batch(stream, batch)
    if not response.succeeded:
        return _store_failure(state, stream, batch, response)
    _log_attempt(stream, batch, response)
    return _store_success(message, state, batch)


def _last_sequence_to_send(stream: LogStream, state: StreamState) -> int:
    """Return the last sequence of the next batch: the stored one of a batch that is repeated, or the greatest."""
    progress = state.progress
    if progress.planned_until and progress.planned_version == stream.version:
        return progress.planned_until
    return min(state.log_size, progress.position + (progress.max_entries or MAX_BATCH_ENTRIES))


def _store_plan(state: StreamState, stream: LogStream, batch: EntryBatch) -> StreamState:
    """Return the state of a stream after its next batch is stored, so that no other worker continues meanwhile.

    Raises ConcurrentModification.
    """
    progress = store_progress(
        state.progress, due_at=_lease_end(), planned_until=batch.last_sequence, planned_version=stream.version
    )
    return replace(state, progress=progress)


def _store_success(message: dict[str, Any], sent: StreamState, batch: EntryBatch) -> StreamState | None:
    """Store that a batch was accepted. Return the current state if this worker continues, None if it stops."""
    for attempt in range(_MAX_CONFLICTS):
        current = _load_state_or_none(message)
        if current is None or (current.progress.due_at, current.progress.position) != (
            sent.progress.due_at,
            sent.progress.position,
        ):
            raise ConcurrentModification
        try:
            return _store_position(current, batch, sent.log_size)
        except ConcurrentModification:
            sleep_with_jittered_backoff(attempt)  # Perhaps only the fan-out has processed another entry.
    raise ConcurrentModification


def _store_position(state: StreamState, batch: EntryBatch, previous_log_size: int) -> StreamState | None:
    """Store the position after a batch. Continue while entries wait that were there before it, or a full batch.

    Fewer entries wait for others. `previous_log_size`: the size of the log before the batch was sent. Return the new
    state if this worker continues, None if it stops. Raises ConcurrentModification.
    """
    progress, position = state.progress, batch.last_sequence
    fields: dict[str, Any] = {**NO_PLAN_FIELDS, "position": position}
    if batch.entries:
        fields |= {**HEALTHY_FIELDS, **_grown_batch_fields(progress)}
    waiting = state.log_size - position
    if state.sends and (position < previous_log_size or waiting >= MAX_BATCH_ENTRIES):
        return replace(state, progress=store_progress(progress, due_at=_lease_end(), **fields))
    _store_pause(state, waiting, fields)
    return None


def _store_pause(state: StreamState, waiting: int, fields: dict[str, Any]) -> None:
    """Store that the worker stops, and when the next one starts: with the fan-out's next entry, or after a time.

    Raises ConcurrentModification also if the fan-out has processed an entry since the state was read.
    """
    progress = state.progress
    if not state.sends:
        store_progress(progress, due_at=None, **fields)
    elif waiting:
        due_at = after(now(), seconds=MAX_BATCH_WAIT_SECONDS)
        _queue_next(store_progress(progress, due_at=due_at, **fields))
    elif state.is_listed:
        store_progress(progress, requires_same_fan_out=True, due_at=None, **fields)
    else:
        store_progress(progress, due_at=after(now(), seconds=_UNLISTED_SECONDS), **fields)


def _store_failure(
    state: StreamState, stream: LogStream, batch: EntryBatch, response: WebhookResponse
) -> StreamState | None:
    """Log and store a failed attempt and when it is repeated. Return the state if a smaller batch is tried at once.

    Raises ConcurrentModification.
    """
    _log_attempt(stream, batch, response)
    progress, current_time = state.progress, now()
    error = {"at": current_time, "status_code": response.status, "message": failure_reason(response)}
    size = batch.last_sequence - batch.first_sequence + 1
    if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and size > 1:
        half = {**NO_PLAN_FIELDS, "max_entries": size // 2, "accepted_batches": 0}
        return replace(state, progress=store_progress(progress, due_at=_lease_end(), last_error=error, **half))
    circuit = progress.circuit.with_outcome(response, current_time)
    fields: dict[str, Any] = {
        "failed_attempts": progress.failed_attempts + 1,
        "failing_since": circuit.failing_since,
        "misconfigured_since": circuit.misconfigured_since,
        "last_error": error,
    }
    if reason := circuit.disable_reason_or_none(response, current_time):
        stored = store_progress(progress, due_at=current_time, pending_disable_reason=reason, **fields)
        with log_and_ignore_aws_errors("start"):
            queues.enqueue(START_STREAM_TASK, stored.item_key)
    else:
        _queue_next(store_progress(progress, due_at=_retry_at(progress, response), **fields))
    return None


def _retry_at(progress: StreamProgress, response: WebhookResponse) -> str | None:
    tries = min(progress.failed_attempts + 1, len(RETRY_SECONDS))
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    return next_attempt_at(tries, now(), jitter, response.retry_after, RETRY_SECONDS)


def _grown_batch_fields(progress: StreamProgress) -> dict[str, Any]:
    """Return the fields with the size of the next batches after one was accepted."""
    if progress.max_entries is None:
        return {}
    if progress.accepted_batches + 1 < _BATCHES_BEFORE_GROWTH:
        return {"accepted_batches": progress.accepted_batches + 1}
    doubled = 2 * progress.max_entries
    return {"accepted_batches": 0, "max_entries": doubled if doubled < MAX_BATCH_ENTRIES else None}


def _lease_end() -> str:
    return after(now(), seconds=LEASE_SECONDS)


def _queue_next(progress: StreamProgress) -> None:
    """Queue the next worker at its time if that is soon. Otherwise, or if that fails, the schedule starts it."""
    seconds = ceil((timestamp_ms(progress.due_at or now()) - now_ms()) / 1000)
    if seconds <= queues.MAX_DELAY_SECONDS:
        with log_and_ignore_aws_errors("start"):
            queues.enqueue_delivery_to_slow_recipient(build_message(progress), delay_seconds=max(seconds, 0))


def _log_attempt(stream: LogStream, batch: EntryBatch, response: WebhookResponse) -> None:
    log_event(
        "streamBatch",
        tenant=stream.organization_id,
        streamId=stream.id,
        destination=stream.destination["type"],
        firstSequence=batch.first_sequence,
        lastSequence=batch.last_sequence,
        entries=len(batch.entries),
        outcome="succeeded" if response.succeeded else "failed",
        status=response.status,
        failure=response.error,
        durationMs=response.duration_ms,
        ageMs=now_ms() - timestamp_ms(batch.first_occurred_at) if batch.first_occurred_at else None,
    )

"""The worker of a log stream: sends the waiting entries in batches, in the order of the log and at least once.

The position in the progress of the stream advances after the destination has accepted a batch. So a crash repeats at
most the last batch. A worker moves `due_at` into the future while it works. Each write requires that nobody else has
moved it, so a second worker stops, and a request that pauses or restarts the stream takes effect at once. If a worker
dies, the stream is due again at that time.

The last sequence of a batch is stored before it is sent. A repeated batch thus contains the same entries, although the
log has grown meanwhile.
"""

import random
from dataclasses import replace
from http import HTTPStatus
from math import ceil
from typing import Any, Final

from chalicelib.features.notifications.entities import MAX_BATCH_WAIT_SECONDS, START_STREAM_TASK
from chalicelib.features.notifications.log_streams.entities import HEALTHY_FIELDS, LogStream, StreamProgress
from chalicelib.features.notifications.log_streams.logic.destination_requests import send_batch
from chalicelib.features.notifications.log_streams.logic.entry_batches import (
    MAX_BATCH_ENTRIES,
    EntryBatch,
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
    """Return whether a worker has to continue now."""
    return progress.due_at is not None and progress.due_at <= after(now(), seconds=_CLOCK_SKEW_SECONDS)


def send_waiting_batches(message: dict[str, Any], deadline_ms: float) -> None:
    """Send batches until a deadline in milliseconds since 1970, at least one.

    Raises ConcurrentModification if another worker or a request has taken over, and MissingEntry at a gap in the log.
    """
    state = _load_state_or_none(message)
    if state is None or not is_due(state.progress) or state.progress.pending_disable_reason:
        return
    next_state: StreamState | None = _claim(state)
    while next_state is not None:
        state = next_state
        next_state = _send_next_batch_and_continue_or_none(message, state)
        if next_state and now_ms() >= deadline_ms:
            _queue_next(store_progress(next_state.progress, due_at=now()))
            return


def _load_state_or_none(message: dict[str, Any]) -> StreamState | None:
    organization_id, stream_id = (message[name].partition("#")[2] for name in ("pk", "sk"))
    return load_state_or_none(organization_id, stream_id)


def _claim(state: StreamState) -> StreamState:
    """Return the state of a stream that no other worker continues meanwhile. Raises ConcurrentModification."""
    progress = state.progress
    is_repeated = progress.planned_until is not None and progress.position < progress.planned_until <= state.log_size
    planned = progress.planned_until if is_repeated else state.log_size
    return replace(state, progress=store_progress(progress, due_at=_lease_end(), planned_until=planned))


def _send_next_batch_and_continue_or_none(message: dict[str, Any], state: StreamState) -> StreamState | None:
    """Send a batch if entries wait. Return the state if this worker continues, None if it stops.

    Raises ConcurrentModification.
    """
    stream, progress = state.stream, state.progress
    if stream is None or not state.sends or progress.position >= state.log_size:
        nothing = EntryBatch(progress.organization_id, progress.position + 1, progress.position, [])
        return _store_success(message, progress, nothing)
    batch = load_next_batch(stream, progress, progress.planned_until or state.log_size)
    response = send_batch(stream, batch) if batch.entries else None
    if response:
        _log_attempt(stream, batch, response)
        if not response.succeeded:
            return _store_failure(state, batch, response)
    return _store_success(message, progress, batch)


def _store_success(message: dict[str, Any], progress: StreamProgress, batch: EntryBatch) -> StreamState | None:
    """Store that a batch was accepted. Return the current state if this worker continues, None if it stops."""
    for attempt in range(_MAX_CONFLICTS):
        current = _load_state_or_none(message)
        if current is None or (current.progress.due_at, current.progress.position) != (
            progress.due_at,
            progress.position,
        ):
            raise ConcurrentModification
        try:
            return _store_position(current, batch)
        except ConcurrentModification:
            sleep_with_jittered_backoff(attempt)  # Perhaps only the fan-out has processed another entry.
    raise ConcurrentModification


def _store_position(state: StreamState, batch: EntryBatch) -> StreamState | None:
    """Continue while a full batch waits, or the rest of what was planned. Fewer entries wait for others.

    Return the new state if this worker continues, None if it stops. Raises ConcurrentModification.
    """
    progress, position = state.progress, batch.last_sequence
    fields: dict[str, Any] = {"position": position}
    if batch.entries:
        fields |= {**HEALTHY_FIELDS, "max_entries": _larger_max_entries_or_none(progress)}
    waiting, planned_until = state.log_size - position, progress.planned_until or 0
    if state.sends and (waiting >= MAX_BATCH_ENTRIES or position < planned_until):
        planned_until = planned_until if position < planned_until else state.log_size
        stored = store_progress(progress, due_at=_lease_end(), planned_until=planned_until, **fields)
        return replace(state, progress=stored)
    _store_pause(state, waiting, fields)
    return None


def _store_pause(state: StreamState, waiting: int, fields: dict[str, Any]) -> None:
    """Store that the worker stops, and when the next one starts: with the fan-out's next entry, or after a time.

    Raises ConcurrentModification also if the fan-out has processed an entry since the state was read.
    """
    progress = state.progress
    if not state.sends:
        store_progress(progress, due_at=None, planned_until=None, **fields)
    elif waiting:
        due_at = after(now(), seconds=MAX_BATCH_WAIT_SECONDS)
        _queue_next(store_progress(progress, due_at=due_at, planned_until=None, **fields))
    elif state.is_listed:
        store_progress(progress, requires_same_fan_out=True, due_at=None, planned_until=None, **fields)
    else:
        store_progress(progress, due_at=after(now(), seconds=_UNLISTED_SECONDS), planned_until=None, **fields)


def _store_failure(state: StreamState, batch: EntryBatch, response: WebhookResponse) -> StreamState | None:
    """Store a failed attempt and when it is repeated. Return the state if a smaller batch is tried at once.

    Raises ConcurrentModification.
    """
    progress, current_time = state.progress, now()
    error = {"at": current_time, "status_code": response.status, "message": failure_reason(response)}
    size = batch.last_sequence - batch.first_sequence + 1
    if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and size > 1:
        stored = store_progress(progress, due_at=_lease_end(), max_entries=size // 2, last_error=error)
        return replace(state, progress=stored)
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


def _larger_max_entries_or_none(progress: StreamProgress) -> int | None:
    """Return the size of the next batches, twice the current one, or None once it is the maximum."""
    doubled = 2 * (progress.max_entries or MAX_BATCH_ENTRIES)
    return doubled if doubled < MAX_BATCH_ENTRIES else None


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
        ageMs=now_ms() - timestamp_ms(batch.entries[0].occurred_at),
    )

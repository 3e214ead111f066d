"""The queues. A message only says which record to process, never its state.

It also contains the ids of the requests that caused it (`requestIds`), so that logs can be correlated.

Messages that are queued while a message is processed form a chain, whose length is limited (`MAX_CHAIN_TURNS`). So a
message is never the only record of work: a schedule finds the work in the table and starts a new chain.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import now, now_ms, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors, originating_request_ids
from chalicelib.kernel.core.problems import Problem, unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.entity import ItemKey

Message = dict[str, Any]

MAX_DELAY_SECONDS: Final = 900
"""Maximum delay of a message (SQS DelaySeconds)."""

MAX_CHAIN_TURNS: Final = 100
"""Maximum messages in a chain, each queued while the one before it is processed. The schedules continue the work."""

MAX_BATCH_SIZE: Final = 10
"""Maximum number of messages in one call (SQS SendMessageBatch)."""

_INVALID_MESSAGE_CODES: Final = frozenset(
    {
        "AWS.SimpleQueueService.BatchRequestTooLong",
        "BatchRequestTooLong",
        "InvalidMessageContents",
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "MissingParameter",
        "ValidationException",
    }
)
"""Error codes of SQS for messages that it never accepts."""


@dataclass(frozen=True)
class BatchResult:
    """The messages of a batch that the queue did not accept, by their positions.

    `invalid`: it never accepts them. `unsent`: they can be sent again. `outage`: the error if it did not respond.
    """

    invalid: frozenset[int] = frozenset()
    unsent: frozenset[int] = frozenset()
    outage: Problem | None = None


_current_turn: ContextVar[int] = ContextVar("current_turn", default=0)


@contextmanager
def chain_turn_scope(message: Message) -> Iterator[None]:
    """Make the messages that the block queues the next turn of the chain of `message`."""
    token = _current_turn.set(turn_of(message))
    try:
        yield
    finally:
        _current_turn.reset(token)


def has_chain_ended() -> bool:
    """Return whether the current message is the last of its chain, so that no message is queued now."""
    return _current_turn.get() >= MAX_CHAIN_TURNS


def turn_of(message: Message) -> int:
    """Return the position of a message in its chain, from 1.

    The first message of a chain does not contain it, and neither does a message of a release without chains.
    """
    turn = message.get("turn", 1)
    return turn if type(turn) is int and turn > 0 else 1


def _may_queue() -> bool:
    """Return whether the chain has a next turn. Otherwise add the field `chainEnded` to the log record."""
    if ended := has_chain_ended():
        add_fields(chainEnded=True)
    return not ended


def notify_ledger(log: str, deduplication_id: str, tasks: Iterable[tuple[str, ItemKey]] = ()) -> None:
    """Tell the ledger worker that a log has pending entries. Each log is a message group.

    The worker starts the `tasks` afterwards, so a request sends a single message.
    """
    task_messages = [_build_task_message(task, record) for task, record in tasks]
    message = {"log": log, "then": task_messages} if task_messages else {"log": log}
    _send(settings().events_queue_url, message, MessageGroupId=log, MessageDeduplicationId=deduplication_id)


def enqueue(task: str, record_key: ItemKey) -> None:
    """Queue a task for a record."""
    enqueue_message(_build_task_message(task, record_key))


def enqueue_at_if_soon(task: str, record_key: ItemKey, at: str) -> None:
    """Queue a task with a delay if its time is soon. Otherwise, or if that fails, the record's schedule starts it."""
    seconds = math.ceil((timestamp_ms(at) - now_ms()) / 1000)
    if seconds <= MAX_DELAY_SECONDS:
        with log_and_ignore_aws_errors("startAt"):
            enqueue_message(_build_task_message(task, record_key), delay_seconds=max(seconds, 0))


def enqueue_message(message: Message, *, delay_seconds: int = 0) -> None:
    """Queue the message of a task with a delay."""
    _send(settings().jobs_queue_url, message, DelaySeconds=delay_seconds)


def enqueue_deliveries(messages: Sequence[tuple[str, Message]]) -> None:
    """Queue delivery tasks, each with its message group.

    The tasks of a group run one after the other, in order. Groups are independent.
    """
    if not messages or not _may_queue():
        return
    for start in range(0, len(messages), MAX_BATCH_SIZE):
        entries = [_build_group_entry(group, message) for group, message in messages[start : start + MAX_BATCH_SIZE]]
        if _send_batch(settings().deliveries_queue_url, entries) != BatchResult():
            raise unavailable("The queue did not accept all messages.")


def enqueue_batch(tasks: Sequence[tuple[str, ItemKey]], *, delay_seconds: int = 0) -> BatchResult:
    """Queue up to `MAX_BATCH_SIZE` tasks for records with a delay. Return which ones the queue did not accept."""
    delay = {"DelaySeconds": delay_seconds} if delay_seconds else {}
    messages = [_to_json_with_request_ids_and_turn(_build_task_message(task, record)) for task, record in tasks]
    return _send_batch_or_single_messages(
        settings().jobs_queue_url, [{"MessageBody": body, **delay} for body in messages]
    )


def notify_ledger_batch(logs: Sequence[str]) -> BatchResult:
    """Tell the ledger worker that up to `MAX_BATCH_SIZE` logs have work. Return for which logs it was not told."""
    entries = [_build_group_entry(log, {"log": log}) for log in logs]
    return _send_batch_or_single_messages(settings().events_queue_url, entries)


def _build_group_entry(group: str, message: Message) -> dict[str, str]:
    return {
        "MessageBody": _to_json_with_request_ids_and_turn(message),
        "MessageGroupId": group,
        "MessageDeduplicationId": new_id(now()),
    }


def _send_batch_or_single_messages(queue_url: str, entries: Sequence[dict[str, Any]]) -> BatchResult:
    """Send messages in one call, or each in its own if one is so invalid that the queue rejects the whole call."""
    try:
        return _send_batch(queue_url, entries)
    except Problem as problem:
        return BatchResult(unsent=frozenset(range(len(entries))), outage=problem)
    except ClientError as error:
        if error.response["Error"]["Code"] not in _INVALID_MESSAGE_CODES:
            raise
        if len(entries) == 1:
            return BatchResult(invalid=frozenset({0}))
    results = [_send_batch_or_single_messages(queue_url, [entry]) for entry in entries]
    return BatchResult(
        invalid=frozenset(position for position, result in enumerate(results) if result.invalid),
        unsent=frozenset(position for position, result in enumerate(results) if result.unsent),
        outage=next((result.outage for result in results if result.outage), None),
    )


def _send_batch(queue_url: str, entries: Sequence[dict[str, Any]]) -> BatchResult:
    """Send up to `MAX_BATCH_SIZE` messages. Raises Problem `unavailable`."""
    if not entries:
        return BatchResult()
    with aws.raise_unavailable_on_aws_outage("queue"):
        response = aws.client("sqs").send_message_batch(
            QueueUrl=queue_url, Entries=[{"Id": str(number), **entry} for number, entry in enumerate(entries)]
        )
    failed = {int(failure["Id"]): failure["Code"] in _INVALID_MESSAGE_CODES for failure in response.get("Failed", ())}
    return BatchResult(
        invalid=frozenset(number for number, is_invalid in failed.items() if is_invalid),
        unsent=frozenset(number for number, is_invalid in failed.items() if not is_invalid),
    )


def enqueue_delivery_to_slow_recipient(message: Message, *, delay_seconds: int = 0) -> None:
    """Queue a delivery to a slow recipient with a delay, where it does not delay others."""
    delay = {"DelaySeconds": delay_seconds} if delay_seconds else {}
    _send(settings().deliveries_slow_queue_url, message, **delay)


def _send(queue_url: str, message: Message, **options: Any) -> None:
    """Send a message, unless its chain has ended. `options`: further arguments of SQS SendMessage."""
    if _may_queue():
        with aws.raise_unavailable_on_aws_outage("queue"):
            aws.client("sqs").send_message(
                QueueUrl=queue_url, MessageBody=_to_json_with_request_ids_and_turn(message), **options
            )


def _build_task_message(task: str, record_key: ItemKey) -> Message:
    return {"task": task, "pk": record_key[0], "sk": record_key[1]}


def _to_json_with_request_ids_and_turn(message: Message) -> str:
    request_ids = {"requestIds": originating_request_ids()} if originating_request_ids() else {}
    unnumbered = {name: value for name, value in message.items() if name != "turn"}  # It may continue another message.
    turn = {"turn": _current_turn.get() + 1} if _current_turn.get() else {}
    return json.dumps(request_ids | unnumbered | turn)


def require_reachable_queue(queue_url: str) -> None:
    """Send a request to a queue. Raises Problem `unavailable`."""
    with aws.raise_unavailable_on_aws_outage("queue"):
        aws.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])


def queue_urls_by_name() -> Mapping[str, str]:
    """Return the URL of each queue by name."""
    config = settings()
    return {
        "events": config.events_queue_url,
        "jobs": config.jobs_queue_url,
        "deliveries": config.deliveries_queue_url,
        "deliveries-slow": config.deliveries_slow_queue_url,
    }

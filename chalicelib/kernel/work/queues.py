"""The queues: what is to be done after the answer. A message only says what to look at, never what is true.

It also names the requests that it is there for (`requestIds`), unless nobody asked for it: so that logs can tell.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import now, now_ms, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import best_effort, current_request_ids
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.entity import ItemKey

Message = dict[str, Any]

MAX_DELAY_SECONDS: Final = 900
"""For so long SQS holds a message back (its DelaySeconds)."""

_MAX_BATCH: Final = 10


def notify_ledger(log: str, deduplication: str, then: Iterable[tuple[str, ItemKey]] = ()) -> None:
    """Tell the ledger worker that a log has entries to append; in the queue each log is a group of its own.

    The worker starts the tasks of `then` afterwards: so a request sends one message, whatever it leads to.
    """
    starts = [_message(task, record) for task, record in then]
    with aws.translate_errors("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().events_queue_url,
            MessageBody=_body({"log": log, "then": starts} if starts else {"log": log}),
            MessageGroupId=log,
            MessageDeduplicationId=deduplication,
        )


def enqueue(task: str, record: ItemKey) -> None:
    """Queue a task by its name, for the record it is about."""
    forward(_message(task, record))


def enqueue_at(task: str, record: ItemKey, at: str) -> None:
    """Let SQS bring a task at its time, if that is soon; else, or if that fails, the record's due mark does."""
    seconds = math.ceil((timestamp_ms(at) - now_ms()) / 1000)
    if seconds <= MAX_DELAY_SECONDS:
        with best_effort("startAt"):
            forward(_message(task, record), seconds=max(seconds, 0))


def forward(message: Message, *, seconds: int = 0) -> None:
    """Queue a task by its message, to be delivered so much later."""
    with aws.translate_errors("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().jobs_queue_url, MessageBody=_body(message), DelaySeconds=seconds
        )


def enqueue_deliveries(messages: Sequence[tuple[str, Message]]) -> None:
    """Queue tasks that send something out of the service, each with the group it belongs to.

    Those of a group are done one after the other, in this order; groups don't wait for each other.
    """
    for start in range(0, len(messages), _MAX_BATCH):
        entries = [
            {
                "Id": str(number),
                "MessageBody": _body(message),
                "MessageGroupId": group,
                "MessageDeduplicationId": new_id(now()),
            }
            for number, (group, message) in enumerate(messages[start : start + _MAX_BATCH])
        ]
        with aws.translate_errors("queue"):
            answer = aws.client("sqs").send_message_batch(QueueUrl=settings().deliveries_queue_url, Entries=entries)
        if answer.get("Failed"):
            raise unavailable("The queue did not take all messages.")


def enqueue_slow(message: Message) -> None:
    """Queue a task that sends to somebody who may not answer: there it keeps nobody else waiting."""
    with aws.translate_errors("queue"):
        aws.client("sqs").send_message(QueueUrl=settings().deliveries_slow_queue_url, MessageBody=_body(message))


def _message(task: str, record: ItemKey) -> Message:
    return {"task": task, "pk": record[0], "sk": record[1]}


def _body(message: Message) -> str:
    return json.dumps({"requestIds": current_request_ids(), **message} if current_request_ids() else message)


def ping(url: str) -> None:
    """Reach a queue. Raises Problem `unavailable`."""
    with aws.translate_errors("queue"):
        aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])


def queue_urls() -> Mapping[str, str]:
    """Return the address of each queue by its name."""
    known = settings()
    return {
        "events": known.events_queue_url,
        "jobs": known.jobs_queue_url,
        "deliveries": known.deliveries_queue_url,
        "deliveries-slow": known.deliveries_slow_queue_url,
    }

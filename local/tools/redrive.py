"""Describes the messages in dead-letter queues, and sends them back to their queues: `python -m local redrive`.

A message is received, sent and only then deleted. So an interruption loses no message, and the next call continues with
the rest. A message that was sent but not deleted arrives twice, as any SQS message may. SQS can also move messages
itself (StartMessageMoveTask), but it does not show them, skips none, and does not document the deduplication ids that
it assigns.
"""

import json
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues, tasks
from infrastructure.resources import DEAD_LETTER_RETENTION_SECONDS, dead_letter_queue

_BATCH_SIZE: Final = 10
_MAX_SHOWN_REQUEST_IDS: Final = 3
_VISIBILITY_TIMEOUT_SECONDS: Final = 300
_WAIT_SECONDS: Final = 1
_RESPONSE_SECONDS: Final = 10
_TIME_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class RedriveFailed(Exception):
    """The queues are not reachable. The message says why."""


@dataclass(frozen=True)
class DeadMessage:
    """A message in a dead-letter queue. `sent_at` is in seconds since 1970. `group` is empty in a standard queue."""

    body: str
    receipt_handle: str
    sent_at: float
    receive_count: int
    group_id: str

    @classmethod
    def from_sqs_message(cls, message: Mapping[str, Any]) -> "DeadMessage":
        """Return the dead message that SQS returned."""
        attributes = message["Attributes"]
        return cls(
            message["Body"],
            message["ReceiptHandle"],
            int(attributes["SentTimestamp"]) / 1000,
            int(attributes["ApproximateReceiveCount"]),
            attributes.get("MessageGroupId", ""),
        )

    def format_line(self, now_seconds: float) -> str:
        """Return the message's subject, request ids, age, remaining retention time and receive count in a line."""
        age = now_seconds - self.sent_at
        remaining_time = _format_duration(max(0, DEAD_LETTER_RETENTION_SECONDS - age))
        subject = f"{describe_message(self.body)}{_format_request_ids(self.body)}"
        received = describe_count(self.receive_count, "time")
        return f"{subject}; {_format_duration(age)} old, deleted in {remaining_time}, received {received}"


@dataclass(frozen=True)
class DeadLetterQueue:
    """A dead-letter queue: its name, its URL, and the URL of the queue whose failed messages it receives."""

    name: str
    url: str
    source_url: str

    @classmethod
    def for_source(cls, source_url: str) -> "DeadLetterQueue":
        """Return the dead-letter queue of a queue, by the URL of that queue."""
        base_url, _, queue = source_url.rpartition("/")
        name = dead_letter_queue(queue)
        return cls(name, f"{base_url}/{name}", source_url)

    def count_messages(self) -> int:
        """Return the approximate number of messages. It may be inaccurate while the queue is busy."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = sqs_client().get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(int(attributes[name]) for name in names)

    def peek(self, max_count: int) -> list[DeadMessage]:
        """Return the first messages, and make them visible to other consumers again at once."""
        with self._releasing() as received:
            for batch in self._receive(max_count):
                received.extend(batch)
            return [*received]

    def send_back(self, sent_before_seconds: float) -> Generator[tuple[DeadMessage, bool], None, None]:
        """Send the messages back to their queue, and yield each message and whether it was sent.

        A message that this release cannot process is not sent. A message that is newer than
        `sent_before_seconds` is skipped, because it has failed again. The messages of a group keep their order.
        """
        with self._releasing() as received:
            for batch in self._receive(None):
                received.extend(batch)
                for message in batch:
                    if message.sent_at < sent_before_seconds:
                        if is_sent := is_processable(message.body):
                            self._send(message)
                            received.remove(message)
                        yield message, is_sent

    def _receive(self, max_count: int | None) -> Iterator[list[DeadMessage]]:
        count = 0
        while max_count is None or count < max_count:
            response = sqs_client().receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=_BATCH_SIZE if max_count is None else min(_BATCH_SIZE, max_count - count),
                VisibilityTimeout=_VISIBILITY_TIMEOUT_SECONDS,
                WaitTimeSeconds=_WAIT_SECONDS,
                MessageSystemAttributeNames=["All"],
            )
            batch = [DeadMessage.from_sqs_message(message) for message in response.get("Messages", [])]
            if not batch:
                return
            count += len(batch)
            yield batch

    def _send(self, message: DeadMessage) -> None:
        # With the old deduplication id, SQS could consider the message a duplicate of a delivered one, and drop it.
        fifo = {"MessageGroupId": message.group_id, "MessageDeduplicationId": new_id(now())} if message.group_id else {}
        sqs_client().send_message(QueueUrl=self.source_url, MessageBody=message.body, **fifo)
        sqs_client().delete_message(QueueUrl=self.url, ReceiptHandle=message.receipt_handle)

    @contextmanager
    def _releasing(self) -> Iterator[list[DeadMessage]]:
        """Yield a list for received messages. At the end, make those that are still in it visible again."""
        received: list[DeadMessage] = []
        try:
            yield received
        finally:  # Also after Ctrl-C. Otherwise nobody could receive the messages for minutes.
            for message in reversed(received):
                sqs_client().change_message_visibility(
                    QueueUrl=self.url, ReceiptHandle=message.receipt_handle, VisibilityTimeout=0
                )


def redrive(queue_names: Sequence[str], *, send: bool, max_shown: int) -> None:
    """Print the messages in the dead-letter queues of the named queues, by default of all, or send them back.

    Uses the settings of this process. Raises RedriveFailed.
    """
    register_tasks()
    urls = queues.queue_urls_by_name()
    try:
        dead_letter_queues = [DeadLetterQueue.for_source(urls[name]) for name in queue_names or urls]
        total = sum([_send_back(queue) if send else _show(queue, max_shown) for queue in dead_letter_queues])
    except (ClientError, BotoCoreError) as error:
        raise RedriveFailed(f"The queues did not respond: {error}") from error
    if send:
        print(f"{total} sent back. Messages that fail again return to the dead-letter queues.")
    elif total:
        print("Nothing was changed. Use --send to send the messages back to their queues.")


def _show(queue: DeadLetterQueue, max_shown: int) -> int:
    """Print the first messages of a dead-letter queue, and return the number of all."""
    count = queue.count_messages()
    print(f"{queue.name}: {count}")
    messages, now_seconds = queue.peek(max_shown) if count else [], time.time()
    for message in messages:
        print(f"  {message.format_line(now_seconds)}")
    if count > len(messages):
        print(f"  … and {count - len(messages)} more")
    return count


def _send_back(queue: DeadLetterQueue) -> int:
    """Send the messages of a dead-letter queue back, print the result, and return how many were sent."""
    sent, skipped, now_seconds = Counter[str](), Counter[str](), time.time()
    try:
        with closing(queue.send_back(now_seconds)) as messages:
            for message, is_sent in messages:
                (sent if is_sent else skipped)[_task_name(message.body)] += 1
    finally:
        sent_text = f" ({_format_counts(sent)})" if sent else ""
        skipped_text = f"; {skipped.total()} skipped ({_format_counts(skipped)})" if skipped else ""
        print(f"{queue.name}: {sent.total()} sent back{sent_text}{skipped_text}", flush=True)
    return sent.total()


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{task_name}: {count}" for task_name, count in sorted(counts.items()))


def _task_name(body: str) -> str:
    message = _parse_body_or_none(body)
    if message is None:
        return "not a JSON object"
    return str(message.get("task", "ledger.append" if "log" in message else "without task"))


def is_processable(body: str) -> bool:
    """Return whether a worker of this release accepts a message. Its task may fail nevertheless."""
    message = _parse_body_or_none(body)
    if message is None or "task" not in message:
        return message is not None and "log" in message
    try:
        tasks.get_task(str(message["task"]))
    except tasks.UnknownTask:
        return False
    return {"pk", "sk"} <= message.keys()


def describe_message(body: str) -> str:
    """Return the task and the target of a message, and whether sending it back makes sense."""
    message = _parse_body_or_none(body)
    if message is None:
        return "not a JSON object: it would fail again"
    if "task" in message:
        return f"{message['task']} of {message.get('pk')} {message.get('sk')}: {_describe_task(message)}"
    if "log" in message:
        return f"ledger.append of log {message['log']}: {_describe_log(message)}"
    return "no task and no log: it would fail again"


def _describe_task(message: Mapping[str, Any]) -> str:
    try:
        tasks.get_task(str(message["task"]))
        item = table.get((message["pk"], message["sk"]))
    except tasks.UnknownTask:
        return "unknown task in this release: it would fail again"
    except KeyError:
        return "no record key: it would fail again"
    except Problem as problem:
        return problem.detail
    if item is None:
        return "its record was deleted: nothing is left to do"
    return f"due at {item['duesk'].partition('#')[0]}: the sweep queues it" if "duesk" in item else "its record exists"


def _describe_log(message: Mapping[str, Any]) -> str:
    task_names = ", ".join(str(task.get("task")) for task in message.get("then", []))
    try:
        pending_count = ledger.count_pending_in_one_read(str(message["log"]))
    except Problem as problem:
        return problem.detail
    pending = describe_count(pending_count, "pending entry", "pending entries")
    return f"{pending}; then {task_names}" if task_names else pending


def _format_request_ids(body: str) -> str:
    """Return the first ids of the requests that caused a message, and the number of the others."""
    values = (_parse_body_or_none(body) or {}).get("requestIds")
    ids = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    others = f" and {len(ids) - _MAX_SHOWN_REQUEST_IDS} more" if len(ids) > _MAX_SHOWN_REQUEST_IDS else ""
    return f"; requests {', '.join(ids[:_MAX_SHOWN_REQUEST_IDS])}{others}" if ids else ""


def _parse_body_or_none(body: str) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _format_duration(seconds: float) -> str:
    unit, size = next(((unit, size) for unit, size in _TIME_UNITS if seconds >= size), _TIME_UNITS[-1])
    return f"{seconds / size:.0f} {unit}"


@cache
def sqs_client() -> Any:
    """Return a client whose timeout is longer than a long poll. The service's own client only sends."""
    config = Config(connect_timeout=5, read_timeout=_WAIT_SECONDS + _RESPONSE_SECONDS, retries={"mode": "standard"})
    return aws.session().client("sqs", endpoint_url=settings().aws_endpoint_url, config=config)

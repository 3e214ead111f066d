"""The dead-letter queues, which receive messages that failed too often: look at messages, and send them back.

A message is received, sent and only then deleted. So an interruption loses no message, and the next call continues with
the rest. A message that was sent but not deleted arrives twice, as any SQS message may. SQS can also move messages
itself (StartMessageMoveTask), but it does not show them, skips none, and does not document the deduplication ids that
it assigns.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import tasks

LEDGER_TASK: Final = "ledger.append"
"""The name of the work that a message about a log asks for. It has no task, because the ledger receives it."""

_BATCH_SIZE: Final = 10
_VISIBILITY_TIMEOUT_SECONDS: Final = 300
_WAIT_SECONDS: Final = 1
"""Duration of a long poll, which asks all servers of SQS. A short one may overlook messages."""


def dead_letter_queue_name(queue: str) -> str:
    """Return the name of a queue's dead-letter queue: `events-dead.fifo`."""
    stem, dot, suffix = queue.partition(".")
    return f"{stem}-dead{dot}{suffix}"


@dataclass(frozen=True)
class DeadMessage:
    """A message in a dead-letter queue. `sent_at` is in seconds since 1970. `group_id` is empty in a standard queue."""

    id: str
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
            message["MessageId"],
            message["Body"],
            message["ReceiptHandle"],
            int(attributes["SentTimestamp"]) / 1000,
            int(attributes["ApproximateReceiveCount"]),
            attributes.get("MessageGroupId", ""),
        )

    @property
    def content_or_none(self) -> dict[str, Any] | None:
        """The JSON object in the body, or None if the body is something else."""
        try:
            message = json.loads(self.body)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    @property
    def task_or_none(self) -> str | None:
        """The name of the work that the message asks for, or None if it asks for none."""
        content = self.content_or_none or {}
        return str(content["task"]) if "task" in content else LEDGER_TASK if "log" in content else None

    @property
    def request_ids(self) -> list[str]:
        """The ids of the requests that caused the message."""
        values = (self.content_or_none or {}).get("requestIds")
        return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []

    @property
    def is_processable(self) -> bool:
        """Whether a worker of this release accepts the message. Its task may fail nevertheless."""
        content = self.content_or_none or {}
        if "task" not in content:
            return "log" in content
        return tasks.has_task(str(content["task"])) and {"pk", "sk"} <= content.keys()


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
        name = dead_letter_queue_name(queue)
        return cls(name, f"{base_url}/{name}", source_url)

    def count_messages(self) -> int:
        """Return the approximate number of messages. It may be inaccurate while the queue is busy."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = _sqs_client().get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
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
        `sent_before_seconds` is skipped, because it has failed again. The messages of a group keep their order. Close
        the generator to end early. The messages that it has not yielded then stay.
        """
        with self._releasing() as received:
            for batch in self._receive(None):
                received.extend(batch)
                for message in batch:
                    if message.sent_at < sent_before_seconds:
                        if is_sent := message.is_processable:
                            self._send(message)
                            received.remove(message)
                        yield message, is_sent

    def _receive(self, max_count: int | None) -> Iterator[list[DeadMessage]]:
        count = 0
        while max_count is None or count < max_count:
            response = _sqs_client().receive_message(
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
        _sqs_client().send_message(QueueUrl=self.source_url, MessageBody=message.body, **fifo)
        _sqs_client().delete_message(QueueUrl=self.url, ReceiptHandle=message.receipt_handle)

    @contextmanager
    def _releasing(self) -> Iterator[list[DeadMessage]]:
        """Yield a list for received messages. At the end, make those that are still in it visible again."""
        received: list[DeadMessage] = []
        try:
            yield received
        finally:  # Also after Ctrl-C. Otherwise nobody could receive the messages for minutes.
            for message in reversed(received):
                _sqs_client().change_message_visibility(
                    QueueUrl=self.url, ReceiptHandle=message.receipt_handle, VisibilityTimeout=0
                )


def _sqs_client() -> Any:
    """Return a client whose time-out is longer than a long poll."""
    return aws.client("sqs", max_wait_seconds=_WAIT_SECONDS + 1)

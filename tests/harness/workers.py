"""Stands in for Lambda's event sources: passes queued messages and scheduled events to the app's handlers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from chalice.app import Chalice, SQSEventConfig
from chalice.local import LambdaContext
from moto.sqs.models import Queue

from chalicelib.kernel.core.clock import now, now_ms
from infrastructure.resources import QUEUES, queue_name
from tests.harness.aws_calls import RecordedCalls, record_calls
from tests.harness.memory_aws import PREFIX, all_items, get_queues

Json = dict[str, Any]
AwaitCleanup = Callable[[], None]

SCHEDULED_EVENT: Final[Json] = {
    "version": "0",
    "id": "00000000-0000-4000-8000-000000000000",
    "detail-type": "Scheduled Event",
    "source": "aws.events",
    "account": "123456789012",
    "time": "2026-11-20T09:30:00Z",
    "region": "us-east-1",
    "resources": [],
    "detail": {},
}


@dataclass
class DeliveryResult:
    """The bodies of the messages that were processed, and of those that failed and stay in their queues."""

    processed_bodies: list[str] = field(default_factory=list)
    failed_bodies: list[str] = field(default_factory=list)


class Workers:
    """The app's queue and schedule handlers."""

    def __init__(self, app: Chalice) -> None:
        self._app = app
        self._in_process = set[str]()
        self.last_calls = RecordedCalls()
        """The AWS calls of the last batch or scheduled event."""

    def deliver(self, *, include_delayed: bool = False) -> list[str]:
        """Deliver all queued messages, also those that they queue, and return their bodies. None may fail.

        Messages whose delay is not over are delivered only with `include_delayed`.
        """
        delivered = self.try_deliver(include_delayed=include_delayed)
        assert delivered.failed_bodies == []
        return delivered.processed_bodies

    def try_deliver(self, *, include_delayed: bool = False) -> DeliveryResult:
        """Deliver all queued messages once. Messages that fail stay in their queues for the next call.

        A nested call acts as another worker: it does not receive messages that the outer call is processing.
        """
        delivered, failed = DeliveryResult(), set[str]()
        while batch := next(self._batches(failed | self._in_process, delayed=include_delayed), None):
            source, queue, messages = batch
            ids = {message.id for message in messages}
            self._in_process |= ids
            try:
                answer = self._call(source.name, {"Records": [_to_sqs_record(queue, message) for message in messages]})
            finally:
                self._in_process -= ids
            failed_ids = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
            failed |= failed_ids
            for message in messages:
                if message.id in failed_ids:
                    delivered.failed_bodies.append(message.body)
                else:
                    delivered.processed_bodies.append(message.body)
                    queue._messages.remove(message)  # noqa: SLF001
        return delivered

    def run_sweep(self) -> None:
        self._call("sweep", SCHEDULED_EVENT)

    def run_hourly_anchoring(self) -> None:
        self._call("anchor", SCHEDULED_EVENT)

    def run_migrations(self) -> list[Json]:
        """Call the function that applies migrations, as a deployment does, and return its response."""
        answer: list[Json] = self._call("migrate", {})
        return answer

    def run_until_idle(self) -> None:
        """Deliver all messages, then sweep and deliver again if tasks are due."""
        self.deliver()
        latest_due_key = f"{now()}~"
        if any(item.get("duesk", "~") <= latest_due_key for item in all_items()):
            self.run_sweep()
            self.deliver()

    def _call(self, handler: str, event: Json) -> Any:
        with record_calls() as self.last_calls:
            return self._app.handler_map[handler](event, LambdaContext(handler, 512, 60_000))

    def _batches(self, hidden: set[str], *, delayed: bool) -> Iterator[tuple[SQSEventConfig, Queue, list[Any]]]:
        for source in self._app.event_sources:
            if isinstance(source, SQSEventConfig):
                queue = get_queue(str(source.queue))
                blocked_groups = {message.group_id for message in queue._messages if message.id in hidden} - {None}  # noqa: SLF001
                ready = [m for m in queue._messages if delayed or m.delayed_until <= now_ms()]  # noqa: SLF001
                available = [m for m in ready if m.id not in hidden and m.group_id not in blocked_groups]
                if available:
                    yield source, queue, available[: source.batch_size]


def get_queue(name: str) -> Queue:
    """Return moto's object of a queue by its short name (`jobs`) or its full_name name."""
    full_name = queue_name(PREFIX, name) if name in QUEUES else name
    return next(queue for queue in get_queues() if queue.name == full_name)


def queued_bodies(name: str) -> list[str]:
    return [message.body for message in get_queue(name)._messages]  # noqa: SLF001


def _to_sqs_record(queue: Queue, message: Any) -> Json:
    fifo = {"MessageGroupId": message.group_id} if message.group_id else {}
    return {
        "messageId": message.id,
        "receiptHandle": f"receipt of {message.id}",
        "body": message.body,
        "attributes": {"ApproximateReceiveCount": "1", **fifo},
        "messageAttributes": {},
        "md5OfBody": message.body_md5,
        "eventSource": "aws:sqs",
        "eventSourceARN": queue.queue_arn,
        "awsRegion": "us-east-1",
    }

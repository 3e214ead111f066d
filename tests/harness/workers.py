"""What Lambda's event sources do: hand queued messages and ticks of the schedule to the app's handlers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from chalice.app import Chalice, SQSEventConfig
from chalice.local import LambdaContext
from moto.sqs.models import Queue

from chalicelib.kernel.core.clock import now, now_ms
from infrastructure.resources import QUEUES, queue_name
from tests.harness.calls import Calls, recorded
from tests.harness.cloud import PREFIX, queues, stored

Json = dict[str, Any]

_TICK: Final[Json] = {
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
class Delivered:
    """The bodies of the messages that were done, and of those that stay in their queues."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Workers:
    """The app's queue and schedule handlers."""

    def __init__(self, app: Chalice) -> None:
        self._app = app
        self._in_hand = set[str]()
        self.calls = Calls()
        """What the last batch or tick took of AWS."""

    def deliver(self, *, delayed: bool = False) -> list[str]:
        """Deliver all that is queued, also what that queues, and return the bodies; none may fail.

        What SQS holds back for its delay comes only if `delayed`.
        """
        delivered = self.attempt(delayed=delayed)
        assert delivered.failed == []
        return delivered.done

    def attempt(self, *, delayed: bool = False) -> Delivered:
        """Deliver all that is queued, once; messages that fail stay, and are seen again by the next call.

        A call within a call is another worker's: it sees no message that the first one has in hand.
        """
        delivered, failed = Delivered(), set[str]()
        while batch := next(self._batches(failed | self._in_hand, delayed=delayed), None):
            source, queue, messages = batch
            with self._holding(messages):
                answer = self._call(source.name, {"Records": [_record(queue, message) for message in messages]})
            returned = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
            failed |= returned
            for message in messages:
                if message.id in returned:
                    delivered.failed.append(message.body)
                else:
                    delivered.done.append(message.body)
                    queue._messages.remove(message)  # noqa: SLF001
        return delivered

    def sweep(self) -> None:
        """Let the schedule tick once."""
        self._call("sweep", _TICK)

    def anchor(self) -> None:
        """Let the hourly schedule of the anchors tick once."""
        self._call("anchor", _TICK)

    def migrate(self) -> list[Json]:
        """Call the function that migrates, as a deployment does at its end, and return its answer."""
        answer: list[Json] = self._call("migrate", {})
        return answer

    def settle(self) -> None:
        """Deliver, sweep and deliver: what is queued or due now is done then. Nothing is swept where nothing is due."""
        self.deliver()
        if _is_anything_due():
            self.sweep()
            self.deliver()

    def _call(self, handler: str, event: Json) -> Any:
        with recorded() as self.calls:
            return self._app.handler_map[handler](event, LambdaContext(handler, 512, 60_000))

    @contextmanager
    def _holding(self, messages: Iterable[Any]) -> Iterator[None]:
        ids = {message.id for message in messages}
        self._in_hand |= ids
        try:
            yield
        finally:
            self._in_hand -= ids

    def _batches(self, hidden: set[str], *, delayed: bool) -> Iterator[tuple[SQSEventConfig, Queue, list[Any]]]:
        for source in self._app.event_sources:
            if isinstance(source, SQSEventConfig):
                queue = waiting(str(source.queue))
                stuck = {message.group_id for message in queue._messages if message.id in hidden} - {None}  # noqa: SLF001
                ready = [m for m in queue._messages if delayed or m.delayed_until <= now_ms()]  # noqa: SLF001
                free = [m for m in ready if m.id not in hidden and m.group_id not in stuck]
                if free:
                    yield source, queue, free[: source.batch_size]


def _is_anything_due() -> bool:
    until = f"{now()}~"
    return any(item.get("duesk", "~") <= until for item in stored())


def waiting(name: str) -> Queue:
    """Return a queue by its short name (`jobs`) or its full one, as moto holds it."""
    full = queue_name(PREFIX, name) if name in QUEUES else name
    return next(queue for queue in queues() if queue.name == full)


def bodies(name: str) -> list[str]:
    """Return the bodies of the messages that wait in a queue."""
    return [message.body for message in waiting(name)._messages]  # noqa: SLF001


def _record(queue: Queue, message: Any) -> Json:
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

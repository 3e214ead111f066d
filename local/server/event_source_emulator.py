"""Emulate Lambda's event sources on the local stage: `python -m local.server.event_source_emulator`.

It invokes all queue and schedule handlers that are registered in the Chalice app. As Lambda does, it ends loops of a
function that is not allowed to run in loops.
"""

import importlib
import json
import logging
import re
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from threading import Event, Thread
from typing import Any, Final
from uuid import uuid4

from botocore.config import Config
from chalice.app import Chalice, ScheduledEventConfig, ScheduleExpression, SQSEventConfig
from chalice.local import LambdaContext

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from infrastructure.resources import queue_name
from local.server import recursive_loops
from local.server.configuration import PREFIX

Handler = Callable[[dict[str, Any], LambdaContext], Any]
Message = Mapping[str, Any]

SCHEDULE_SECONDS: Final = 5
"""Delay of the first run of every schedule, and interval of schedules with a rate of a minute."""

_RATE: Final = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_UNITS: Final = {"minute": 60, "hour": 60 * 60, "day": 24 * 60 * 60}

_SCHEDULE_TIMEOUT_SECONDS: Final = 60
_MAX_BATCH_SIZE: Final = 10
_DEFAULT_POLLERS: Final = 2
_MAX_POLLERS: Final = 4
_WAIT_SECONDS: Final = 2
_RESPONSE_SECONDS: Final = 10
_PAUSE_SECONDS: Final = 1
_STOP_SECONDS: Final = 8
_MEMORY_MB: Final = 512
_REGION: Final = "us-east-1"

_log = logging.getLogger("worker")


@dataclass(frozen=True)
class Consumer:
    """A queue and the handler of its messages."""

    name: str
    handle: Handler
    queue_url: str
    queue_arn: str
    batch_size: int
    pollers: int
    timeout_seconds: int
    dead_letter_url: str | None = None

    def poll(self, wait_seconds: int) -> None:
        """Receive a batch, invoke the handler, and delete the messages that it processed.

        The others return to the queue after their visibility timeout, in the same order.
        """
        messages = sqs().receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=self.batch_size,
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        received = messages.get("Messages", [])
        looping = [message for message in received if recursive_loops.is_dropped(self.name, message)]
        if looping:
            self._drop(looping)
        if batch := [message for message in received if message not in looping]:
            with recursive_loops.invocation_scope(self.name, batch):
                done = self._process(batch)
            self._delete(done)

    def _process(self, batch: Sequence[Message]) -> Sequence[Message]:
        event = {"Records": [_sqs_record(message, self.queue_arn) for message in batch]}
        try:
            answer = self.handle(event, _context(self.name, self.timeout_seconds))
        except Exception:  # noqa: BLE001 - as on Lambda, any exception returns the messages to the queue
            _log.exception("%s failed with a batch of %d", self.name, len(batch))
            return []
        failed = _failed_ids(answer, {message["MessageId"] for message in batch})
        if failed:
            _log.warning("%s returned %d of %d messages to the queue", self.name, len(failed), len(batch))
        return [message for message in batch if message["MessageId"] not in failed]

    def _drop(self, looping: Sequence[Message]) -> None:
        """Move messages to the dead-letter queue. Without one, they are lost."""
        _log.error("%s dropped %d messages of a recursive loop", self.name, len(looping))
        for message in looping if self.dead_letter_url else ():
            ordering = {
                parameter: message["Attributes"][parameter]
                for parameter in ("MessageGroupId", "MessageDeduplicationId")
                if parameter in message["Attributes"]
            }
            sqs().send_message(QueueUrl=self.dead_letter_url, MessageBody=message["Body"], **ordering)
        self._delete(looping)

    def _delete(self, done: Sequence[Message]) -> None:
        if done:
            entries = [{"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]} for i, message in enumerate(done)]
            sqs().delete_message_batch(QueueUrl=self.queue_url, Entries=entries)


@dataclass(frozen=True)
class Schedule:
    """A handler with a fixed rate."""

    name: str
    handle: Handler
    seconds: int

    def invoke(self) -> Any:
        """Invoke the handler as EventBridge does, and return its result. Its exceptions pass through."""
        return self.handle(scheduled_event(self.name), _context(self.name, _SCHEDULE_TIMEOUT_SECONDS))

    def fire(self) -> None:
        """Invoke the handler, and log its exceptions."""
        try:
            self.invoke()
        except Exception:  # noqa: BLE001 - as on Lambda, the schedule continues after any exception
            _log.exception("%s failed", self.name)

    def keep_firing(self, stopped: Event) -> None:
        """Fire periodically until stopped."""
        pause: float = SCHEDULE_SECONDS
        while not stopped.wait(pause):
            self.fire()
            pause = SCHEDULE_SECONDS if self.seconds <= _UNITS["minute"] else self.seconds


@cache
def sqs() -> Any:
    """Return a client for long polling. The service's own client has a shorter timeout."""
    config = Config(connect_timeout=1, read_timeout=_WAIT_SECONDS + _RESPONSE_SECONDS)
    return aws.session().client("sqs", endpoint_url=settings().aws_endpoint_url, config=config)


def consumers(app: Chalice) -> Iterator[Consumer]:
    """Yield a consumer for each of the app's queue handlers."""
    recursive_loops.forward_trace_header(aws.client("sqs"))
    for source in app.event_sources:
        if isinstance(source, SQSEventConfig):
            yield _consumer(source, app.handler_map[source.name])


def schedules(app: Chalice) -> Iterator[Schedule]:
    """Yield the app's scheduled handlers."""
    for source in app.event_sources:
        if isinstance(source, ScheduledEventConfig):
            yield Schedule(source.name, app.handler_map[source.name], _rate_seconds(source.schedule_expression))


def run_event_sources(app: Chalice, stopped: Event) -> None:
    """Serve every queue and schedule of the app until stopped."""
    polling = [Thread(target=_keep_polling, args=(c, stopped)) for c in consumers(app) for _ in range(c.pollers)]
    firing = [Thread(target=s.keep_firing, args=(stopped,)) for s in schedules(app)]
    threads = [*polling, *firing]
    for thread in threads:
        thread.daemon = True
        thread.start()
    stopped.wait()
    for thread in threads:
        thread.join(_STOP_SECONDS)


def _keep_polling(consumer: Consumer, stopped: Event) -> None:
    while not stopped.is_set():
        try:
            consumer.poll(_WAIT_SECONDS)
        except Exception:  # noqa: BLE001 - as on Lambda, a queue is polled again after any exception
            _log.exception("%s could not poll its queue", consumer.name)
            stopped.wait(_PAUSE_SECONDS)


def _rate_seconds(expression: str | ScheduleExpression) -> int:
    """Return the interval of a rate expression. Raises ValueError for other expressions."""
    text = expression if isinstance(expression, str) else expression.to_string()
    rate = _RATE.fullmatch(text)
    if not rate:
        raise ValueError(f"the local stage supports only rate expressions, not {text}")
    return int(rate[1]) * _UNITS[rate[2]]


def _consumer(source: SQSEventConfig, handle: Handler) -> Consumer:
    name = source.queue or str(source.queue_arn).rpartition(":")[2]
    full_name = name if name.startswith(f"{PREFIX}-") else queue_name(PREFIX, name)
    url = sqs().get_queue_url(QueueName=full_name)["QueueUrl"]
    wanted = ["QueueArn", "VisibilityTimeout", "RedrivePolicy"]
    attributes = sqs().get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
    return Consumer(
        name=source.name,
        handle=handle,
        queue_url=url,
        queue_arn=attributes["QueueArn"],
        batch_size=min(source.batch_size, _MAX_BATCH_SIZE),
        pollers=min(source.maximum_concurrency or _DEFAULT_POLLERS, _MAX_POLLERS),
        # A handler must finish before its messages return to the queue.
        timeout_seconds=int(attributes["VisibilityTimeout"]),
        dead_letter_url=_dead_letter_url_or_none(attributes),
    )


def _dead_letter_url_or_none(attributes: Mapping[str, str]) -> str | None:
    if "RedrivePolicy" not in attributes:
        return None
    arn = json.loads(attributes["RedrivePolicy"])["deadLetterTargetArn"]
    return str(sqs().get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"])


def _failed_ids(answer: object, sent: Collection[str]) -> Collection[str]:
    """Return the failed ids in a partial batch response. As on AWS, an unknown id means that all failed."""
    if not isinstance(answer, Mapping):
        return ()
    failed = {failure.get("itemIdentifier") for failure in answer.get("batchItemFailures") or ()}
    return failed if failed <= set(sent) else sent


def _sqs_record(message: Message, queue_arn: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: {key[0].lower() + key[1:]: value for key, value in attribute.items()}
            for name, attribute in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": _REGION,
    }


def scheduled_event(name: str) -> dict[str, Any]:
    """Return the event with which EventBridge invokes the handler of a schedule."""
    return {
        "version": "0",
        "id": str(uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": _REGION,
        "resources": [f"arn:aws:events:{_REGION}:000000000000:rule/{name}"],
        "detail": {},
    }


def _context(name: str, timeout_seconds: int) -> LambdaContext:
    return LambdaContext(name, _MEMORY_MB, timeout_seconds * 1000)


def _main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stopped = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    run_event_sources(importlib.import_module("app").app, stopped)


if __name__ == "__main__":
    _main()

"""The queues: what is to be done after the answer. A message only says what to look at, never what is true."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.kernel import aws
from chalicelib.kernel.entity import Key
from chalicelib.kernel.logs import report
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.settings import settings

Message = dict[str, str]


def wake(log: str, deduplication: str, then: Iterable[tuple[str, Key]] = ()) -> None:
    """Tell the ledger worker that a log has entries to append; in the queue each log is a group of its own.

    The worker starts the tasks of `then` afterwards: so a request sends one message, whatever it leads to.
    """
    starts = [_message(task, record) for task, record in then]
    with aws.reaching("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().events_queue_url,
            MessageBody=json.dumps({"log": log, "then": starts} if starts else {"log": log}),
            MessageGroupId=log,
            MessageDeduplicationId=deduplication,
        )


@contextmanager
def if_possible(what: str) -> Iterator[None]:
    """Go on if nothing can be queued, for whatever reason: what was to be queued is due, so the sweep finds it."""
    try:
        yield
    except (Problem, ClientError, BotoCoreError) as error:
        report(**{what: error.code if isinstance(error, Problem) else type(error).__name__})


def start(task: str, record: Key) -> None:
    """Queue a task by its name, for the record it is about."""
    forward(_message(task, record))


def forward(message: Message, *, seconds: int = 0) -> None:
    """Queue a task by its message, to be delivered so much later."""
    with aws.reaching("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().jobs_queue_url, MessageBody=json.dumps(message), DelaySeconds=seconds
        )


def _message(task: str, record: Key) -> Message:
    return {"task": task, "pk": record[0], "sk": record[1]}


def reach() -> None:
    """Reach the queue that every mutation sends to. Raises Problem `unavailable`."""
    with aws.reaching("queue"):
        aws.client("sqs").get_queue_attributes(QueueUrl=settings().events_queue_url, AttributeNames=["QueueArn"])

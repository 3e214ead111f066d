"""The queues: what is to be done after the answer. A message only says what to look at, never what is true."""

import json
from collections.abc import Mapping

from chalicelib.kernel import aws
from chalicelib.kernel.settings import settings


def wake(log: str, deduplication: str) -> None:
    """Tell the ledger worker that a log has entries to append; in the queue each log is a group of its own."""
    with aws.reaching("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().events_queue_url,
            MessageBody=json.dumps({"log": log}),
            MessageGroupId=log,
            MessageDeduplicationId=deduplication,
        )


def start(task: str, arguments: Mapping[str, object]) -> None:
    """Queue a task by its name."""
    with aws.reaching("queue"):
        aws.client("sqs").send_message(
            QueueUrl=settings().jobs_queue_url,
            MessageBody=json.dumps({"task": task, **arguments}),
        )


def reach() -> None:
    """Reach the queue that every mutation sends to. Raises Problem `unavailable`."""
    with aws.reaching("queue"):
        aws.client("sqs").get_queue_attributes(QueueUrl=settings().events_queue_url, AttributeNames=["QueueArn"])

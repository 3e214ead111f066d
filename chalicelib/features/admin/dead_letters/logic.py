"""Reads the dead-letter queues for operators, and sends their messages back."""

import time
from contextlib import closing
from dataclasses import dataclass
from typing import Final, get_args

from chalicelib.features.admin.dead_letters.models import (
    MAX_SHOWN_MESSAGES,
    DeadLetterOut,
    DeadLetterQueueOut,
    QueueName,
)
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import timestamp
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.dead_letters import DeadLetterQueue, DeadMessage

_MAX_SHOWN_REQUEST_IDS: Final = 3


@dataclass(frozen=True)
class RedriveResult:
    """The number of messages that a slice sent back and skipped, and whether nothing is left to do."""

    sent: int
    skipped: int
    is_complete: bool


def list_dead_letter_queues() -> list[DeadLetterQueueOut]:
    """Return each dead-letter queue with its first messages. The queues are read in parallel.

    Raises Problem `unavailable`.
    """
    return table.gather(_look_into_queue, get_args(QueueName))


def send_dead_letters_back(
    queue: QueueName, max_messages: int, sent_before_seconds: float, deadline_monotonic: float
) -> RedriveResult:
    """Send messages of a dead-letter queue back to their queue, until a deadline.

    `sent_before_seconds`: the time before which a message was sent to be considered. Later ones have failed again.
    Raises Problem `unavailable` if SQS fails before the first message was sent. Later failures end the slice.
    """
    sent, skipped = 0, 0
    try:
        with (
            aws.raise_unavailable_on_aws_outage("queue"),
            closing(_dead_letter_queue(queue).send_back(sent_before_seconds)) as messages,
        ):
            for _, is_sent in messages:
                sent, skipped = sent + is_sent, skipped + (not is_sent)
                if sent == max_messages:
                    return RedriveResult(sent, skipped, is_complete=True)
                if time.monotonic() > deadline_monotonic:
                    return RedriveResult(sent, skipped, is_complete=False)
    except Problem:
        if not sent:
            raise
        return RedriveResult(sent, skipped, is_complete=False)
    return RedriveResult(sent, skipped, is_complete=True)


def _dead_letter_queue(queue: QueueName) -> DeadLetterQueue:
    return DeadLetterQueue.for_source(queues.queue_urls_by_name()[queue])


def _look_into_queue(queue: QueueName) -> DeadLetterQueueOut:
    dead_letter_queue = _dead_letter_queue(queue)
    with aws.raise_unavailable_on_aws_outage("queue"):
        count = dead_letter_queue.count_messages()
        messages = dead_letter_queue.peek(MAX_SHOWN_MESSAGES) if count else []
    shown = [_build_message_output(message) for message in messages]
    return DeadLetterQueueOut(
        queue=queue,
        name=dead_letter_queue.name,
        message_count=count,
        oldest_sent_at=min((message.sent_at for message in shown), default=None),
        messages=shown,
    )


def _build_message_output(message: DeadMessage) -> DeadLetterOut:
    return DeadLetterOut(
        message_id=message.id,
        task=message.task_or_none,
        can_be_redriven=message.is_processable,
        request_ids=message.request_ids[:_MAX_SHOWN_REQUEST_IDS],
        receive_count=message.receive_count,
        sent_at=timestamp(round(message.sent_at * 1000)),
    )

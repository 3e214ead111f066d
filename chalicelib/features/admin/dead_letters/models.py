"""Requests and responses of the operations on dead-letter queues."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Input, Output, RecordOutput

MAX_SHOWN_MESSAGES: Final = 10
"""Messages of each dead-letter queue that a request shows."""

MAX_REDRIVEN_MESSAGES: Final = 10_000
"""Messages that a redrive sends back."""

RedriveStatus = Literal["queued", "running", "completed", "failed"]
QueueName = Literal["events", "jobs", "deliveries", "deliveries-slow"]
"""Names of the queues, as in `queues.queue_urls_by_name`."""


class DeadLetterOut(Output):
    """A message that failed too often.

    Its body is not shown, because it can name records of tenants.
    """

    message_id: str = Field(
        description="SQS's id of the message, which the log records of its failures contain, too.",
        examples=["5fea7756-0ea4-451a-a703-a558b933e274"],
    )
    task: str | None = Field(
        description="The work that the message asks for; `ledger.append` for new entries of a log. Null if another "
        "program put the message there.",
        examples=["audit_exports.run"],
    )
    can_be_redriven: bool = Field(
        description="Whether this release has the task. Other messages would fail again, so a redrive skips them.",
        examples=[True],
    )
    request_ids: list[str] = Field(
        description="The first three requests that caused the message. Empty if the sweep queued it.",
        examples=[["01939d3c-0000-7000-8000-0000000000aa"]],
    )
    receive_count: int = Field(
        ge=0, description="How often it was received, here and in its queue. Each look counts.", examples=[6]
    )
    sent_at: Timestamp = Field(
        description="When it was sent or, in the two FIFO queues `events` and `deliveries`, when it was moved here."
    )


class DeadLetterQueueOut(Output):
    """A dead-letter queue: how many messages it has, and the first of them.

    A message moves there after five failures, and stays for 14 days. Its alarm is active as long as there are any.
    """

    queue: QueueName = Field(description="The queue whose messages failed.", examples=["jobs"])
    name: str = Field(description="The name of the dead-letter queue.", examples=["atrium-jobs-dead"])
    message_count: int = Field(ge=0, description="The approximate number of messages, as SQS states it.", examples=[3])
    oldest_sent_at: Timestamp | None = Field(description="When the oldest of the shown messages was sent.")
    messages: list[DeadLetterOut] = Field(
        description=f"The first messages, at most {MAX_SHOWN_MESSAGES}. While somebody else looks at the queue or "
        "sends messages back, some may be missing."
    )


class DeadLettersOut(Output):
    """All dead-letter queues at this moment.

    It is no list of records: SQS may show other messages at each look, and counts the looks.
    """

    no_store: ClassVar[bool] = True

    queues: list[DeadLetterQueueOut] = Field(description="Always the same four, in the order of a message's way.")


class RedriveCreate(Input):
    """Which dead letters to send back to their queue.

    Repair the cause of the failures first, or the same messages return to the dead letters.
    """

    queue: QueueName = Field(description="The queue whose messages failed.", examples=["jobs"])
    max_messages: int = Field(
        1_000, ge=1, le=MAX_REDRIVEN_MESSAGES, description="The redrive ends after this number.", examples=[1_000]
    )


class RedriveOut(RecordOutput):
    """A redrive: dead letters that are sent back to their queue, in the background.

    Messages of tasks that this release does not have are skipped, and stay.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "system.dead_letter_redrive.requested": {"status": "queued", "sent": 0, "completed_at": None},
        "system.dead_letter_redrive.failed": {
            "status": "failed",
            "error": "SQS failed again and again. Start another redrive.",
        },
    }

    status: RedriveStatus = Field(description="`completed` and `failed` are final.", examples=["completed"])
    queue: QueueName = Field(description="The queue that receives the messages.", examples=["jobs"])
    max_messages: int = Field(ge=1, description="The redrive ends after this number.", examples=[1_000])
    sent: int = Field(
        ge=0, description="Messages sent back so far. After an interruption, it can be some too few.", examples=[3]
    )
    skipped: int = Field(
        ge=0, description="Messages that stay, because this release does not have their tasks.", examples=[0]
    )
    completed_at: Timestamp | None = Field(description="When the redrive ended.")
    error: str | None = Field(description="Why it failed.", examples=[None])

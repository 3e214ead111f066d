"""Stored records of deliveries, and the base class of their subscribers."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Final, Self

from chalicelib.features.notifications.models.event_areas import is_in_scope_areas
from chalicelib.features.notifications.models.schemas import DeliveryStatus, RecipientStatus
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage.entity import Entity, ItemKey, ScheduledTask
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.work.jobs import Job
from chalicelib.kernel.work.queues import MAX_DELAY_SECONDS

RETENTION_DAYS: Final = 90
"""Days for which deliveries and replays are stored."""

QUEUE_TASK: Final = "deliveries.queue"
"""The task that queues a delivery once it is due."""

START_STREAM_TASK: Final = "log_streams.start"
"""The task that starts the worker of a log stream once entries wait for it."""

MAX_BATCH_WAIT_SECONDS: Final = 30
"""Time after which a log stream sends the entries that wait, if they are fewer than a batch."""

_RESPONSE_FIELDS: Final = ("error", "response_body")
"""The fields of an attempt that may contain text from a third-party server."""

_REDRIVE_DELAY_SECONDS: Final = 300
"""Delay after the planned attempt before a delivery is queued again, because its message must be lost."""


class EventRecipient(Entity):
    """A record that receives events. `events`: exact types, `page.*` or `*`.

    `areas` limits the events to those that the last editor may read; None means no limit.
    """

    gives_access = True
    child_partition = "V#{id}"

    organization_id: str
    events: list[str]
    enabled: bool = True
    areas: list[str] | None = None


class Subscriber(EventRecipient):
    """A recipient with a delivery for each event.

    The task `send_task` sends a batch of its deliveries, at least `min_interval_seconds` apart. A subscriber owns its
    deliveries, which are deleted with it.
    """

    send_task: ClassVar[str]
    delivery_type: ClassVar[type["Delivery"]]
    min_interval_seconds: ClassVar[int] = 0
    shows_sentences: ClassVar[bool] = False
    """Whether it receives events as sentences, so that those of application events have to be loaded."""

    def has_scope_for_event_type(self, event_type: str) -> bool:
        """Return whether the subscriber may receive events of a type."""
        return is_in_scope_areas(event_type, self.areas)

    @property
    def stored_url(self) -> object:
        """Return the endpoint that receives the events, to detect that a change replaced it."""
        raise NotImplementedError


class RecipientWithSecrets(EventRecipient):
    """A recipient with secrets, and with a status that the service can set to `disabled`.

    `secrets`: `{sealed, until}` items. The current secret comes first, and its `until` is null.
    """

    encryption_context_prefix: ClassVar[str]

    disabled_reason: str | None = None
    secrets: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def secret_context_of(cls, record_id: str) -> str:
        """Return the context in which the secrets of the record with this id are encrypted."""
        return f"{cls.encryption_context_prefix}:{record_id}"

    @property
    def secret_context(self) -> str:
        """Return the context in which the secrets are encrypted."""
        return self.secret_context_of(self.id)

    @property
    def status(self) -> RecipientStatus:
        """`active`, `paused` by a user, or `disabled` by the service."""
        if self.disabled_reason:
            return "disabled"
        return "active" if self.enabled else "paused"

    @property
    def former_secrets_until(self) -> str | None:
        """Return when the last of the former secrets stops signing, or stopped; None without any."""
        return max((secret["until"] for secret in self.secrets if secret["until"]), default=None)


class Delivery(Entity):
    """The delivery of an event to a subscriber. Its id is the id of the event.

    `tries` counts the attempts since the delivery was last requested. `due_at` is when the scheduler queues it, if
    nothing else did.
    """

    gives_access = True
    log_rules = LogRules(exemption="It follows from the log and from its subscriber, and is removed after 90 days.")
    mac_exemption = "The functions that send it cannot use the key."
    subscriber_field: ClassVar[str]
    """The name of the field with the subscriber's id."""

    organization_id: str
    event_type: str
    sequence: int
    status: DeliveryStatus = "pending"
    attempts: list[dict[str, Any]] = field(default_factory=list)
    tries: int = 0
    next_attempt_at: str | None = None
    completed_at: str | None = None
    due_at: str | None = None
    ttl: int

    @classmethod
    def create_pending_or_skipped(
        cls,
        subscriber_id: str,
        *,
        event_id: str,
        event_type: str,
        organization_id: str,
        sequence: int,
        received_at: str,
        now: str,
        attempt_at: str | None,
    ) -> Self:
        """Return a new delivery that is attempted at a time, or skipped without one.

        `received_at`: the time in the id of the event, by which deliveries are listed and replayed.
        """
        subscriber_fields: dict[str, Any] = {cls.subscriber_field: subscriber_id}
        return cls(
            id=event_id,
            created_at=received_at,
            updated_at=now,
            organization_id=organization_id,
            event_type=event_type,
            sequence=sequence,
            status="pending" if attempt_at else "skipped",
            next_attempt_at=attempt_at,
            completed_at=None if attempt_at else now,
            due_at=attempt_at and scheduler_due_at(attempt_at, now),
            ttl=timestamp_ms(after(now, days=RETENTION_DAYS)) // 1000,
            **subscriber_fields,
        )

    @property
    def event_id(self) -> str:
        """Return the id of the event, which is also the id of the delivery."""
        return self.id

    @property
    def subscriber_id(self) -> str:
        """Return the id of the subscriber."""
        return str(getattr(self, self.subscriber_field))

    @property
    def audit_log_label(self) -> str:
        """Return the event type, which stands for the delivery in the log."""
        return self.event_type

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that queues a pending delivery, and its time."""
        return ScheduledTask(QUEUE_TASK, self.due_at) if self.due_at else None

    def attempt_writes(self, responses: Sequence[WebhookResponse], now: str) -> list[Write]:  # noqa: ARG002 - most deliveries are not counted
        """Return what the transaction that stores attempts also writes, given their responses."""
        return []

    @property
    def is_expired(self) -> bool:
        """Return whether the retention period has ended. The table deletes the item some time later."""
        return self.ttl <= timestamp_ms(now()) // 1000

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person from stored responses."""
        attempts = [
            attempt | person.redacted_field_changes({name: attempt[name] for name in _RESPONSE_FIELDS})
            for attempt in self.attempts
        ]
        return {"attempts": attempts} if attempts != self.attempts else {}


class AdminNotice(Job):
    """The email to an organization's admins about a recipient of events that the service disabled.

    `last_notified_id` is the id of the last member who was notified.
    """

    attribute_names: ClassVar[Mapping[str, str]] = {"last_notified_id": "told"}

    organization_id: str
    last_notified_id: str | None = None

    @property
    def recipient_key(self) -> ItemKey:
        """Return the item key of the recipient."""
        raise NotImplementedError


class SubscriberCleanup(Job):
    """The removal of the deliveries of a deleted subscriber, including those that the fan-out still creates.

    `partition` contains them. `last_sequence` is the size of the log once it contains the entry of the deletion. After
    the fan-out has processed that entry, it creates no more deliveries.
    """

    kind, task = "organization.clearing", "deliveries.clear"
    pk, sk = "O#{organization_id}", "Y#{id}"
    child_partition = "{partition}"
    attribute_names: ClassVar[Mapping[str, str]] = {"last_sequence": "until"}

    organization_id: str
    partition: str
    last_sequence: int | None = None

    @classmethod
    def from_subscriber(cls, subscriber: Subscriber, timestamp: str) -> "SubscriberCleanup":
        """Return the job for a subscriber that is deleted at a time."""
        organization_id, partition = subscriber.organization_id, str(subscriber.child_partition_key)
        return cls(
            **new_id_and_time_fields(timestamp),
            lease_until=timestamp,
            organization_id=organization_id,
            partition=partition,
        )


def requeue_fields(timestamp: str) -> dict[str, Any]:
    """Return the fields of a delivery that is attempted again at a time, as if for the first time."""
    return {
        "status": "pending",
        "tries": 0,
        "next_attempt_at": timestamp,
        "completed_at": None,
        "due_at": scheduler_due_at(timestamp, timestamp),
    }


def scheduler_due_at(attempt_at: str, now: str) -> str:
    """Return when the scheduler queues a delivery that is planned for a time.

    A near attempt is queued directly, so the scheduler only has to find it if its message was lost.
    """
    is_queued_already = attempt_at <= after(now, seconds=MAX_DELAY_SECONDS)
    return after(attempt_at, seconds=_REDRIVE_DELAY_SECONDS) if is_queued_already else attempt_at

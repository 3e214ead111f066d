"""What is stored of a delivery, and what a record is that events are delivered to."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Self

from chalicelib.features.deliveries.event_types import within
from chalicelib.features.deliveries.models import Status
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage.entity import Entity, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import Job
from chalicelib.kernel.work.queues import MAX_DELAY_SECONDS

KEPT_DAYS: Final = 90

QUEUE: Final = "deliveries.queue"
"""The task that queues a delivery once its time has come."""

_ANSWERED: Final = ("error", "response_body")
"""What an attempt says in words that may be somebody else's."""

_LOST_SECONDS: Final = 300
"""How long after it should have been tried a delivery is queued again: its message must be lost."""


class Subscriber(Entity):
    """A record that events are delivered to. `events`: exact types, `page.*` or `*`.

    `areas`: whose events these are among, those that whoever made it or changed it last may read; None are all.

    `task` sends a lot of them: queued for one subscriber after the other, `spacing_seconds` apart at least. It holds
    its deliveries, which go with it.
    """

    gives_access = True
    child_partition = "V#{id}"

    task: ClassVar[str]
    delivery: ClassVar[type["Delivery"]]
    spacing_seconds: ClassVar[int] = 0

    organization_id: str
    events: list[str]
    enabled: bool = True
    areas: list[str] | None = None

    def hears(self, event_type: str) -> bool:
        """Return whether it may be told of a type of event."""
        return within(event_type, self.areas)

    @property
    def target(self) -> object:
        """Where it leads to: with another target it is another's server that answers."""
        raise NotImplementedError


class Delivery(Entity):
    """An event on its way to a subscriber; it has the event's id. `tries`: attempts since it was last asked for.

    `due_at`: when the sweep looks after it, if nothing else has.
    """

    gives_access = True
    subscriber: ClassVar[str]
    """The field that names the subscriber."""

    organization_id: str
    event_type: str
    sequence: int
    status: Status = "pending"
    attempts: list[dict[str, Any]] = field(default_factory=list)
    tries: int = 0
    next_attempt_at: str | None = None
    completed_at: str | None = None
    due_at: str | None = None
    ttl: int

    @classmethod
    def planned(
        cls,
        subscriber_id: str,
        *,
        event_id: str,
        event_type: str,
        organization_id: str,
        sequence: int,
        occurred_at: str,
        now: str,
        at: str | None,
    ) -> Self:
        """Return the delivery of an event that is to be tried at a moment, or that is skipped if there is none."""
        named: dict[str, Any] = {cls.subscriber: subscriber_id}
        return cls(
            id=event_id,
            created_at=occurred_at,
            updated_at=now,
            organization_id=organization_id,
            event_type=event_type,
            sequence=sequence,
            status="pending" if at else "skipped",
            next_attempt_at=at,
            completed_at=None if at else now,
            due_at=at and looked_after(at, now),
            ttl=timestamp_ms(after(now, days=KEPT_DAYS)) // 1000,
            **named,
        )

    @property
    def event_id(self) -> str:
        """The event's id, which is its own too."""
        return self.id

    @property
    def subscriber_id(self) -> str:
        """Whom it goes to."""
        return str(getattr(self, self.subscriber))

    @property
    def log_label(self) -> str:
        """The type of its event."""
        return self.event_type

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """When it should be queued, as long as it waits."""
        return ScheduledTask(QUEUE, self.due_at) if self.due_at else None

    @property
    def expired(self) -> bool:
        """Whether it was kept for as long as it had to be: the table removes it late."""
        return self.ttl <= timestamp_ms(now()) // 1000

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets no answer that it got name the person."""
        attempts = [a | person.redact_all({name: a[name] for name in _ANSWERED}) for a in self.attempts]
        return {"attempts": attempts} if attempts != self.attempts else {}


class Clearing(Job):
    """The removal of what a subscriber held that is gone: its `partition`, and what the log still brings there.

    `until`: the size that the log has with the entry that says it is gone. When all up to it was delivered, nothing
    more comes.
    """

    kind, task = "organization.clearing", "deliveries.clear"
    pk, sk = "O#{organization_id}", "Y#{id}"
    child_partition = "{partition}"

    organization_id: str
    partition: str
    until: int | None = None

    @classmethod
    def after(cls, subscriber: Subscriber, moment: str) -> "Clearing":
        """Return what is to be done once a subscriber is removed at a moment."""
        place, partition = subscriber.organization_id, str(subscriber.child_partition_key)
        return cls(**new_record_fields(moment), turn_at=moment, organization_id=place, partition=partition)


def asked_for(moment: str) -> dict[str, Any]:
    """Return the fields of a delivery that is to be tried at a moment as if it never had been."""
    return {
        "status": "pending",
        "tries": 0,
        "next_attempt_at": moment,
        "completed_at": None,
        "due_at": looked_after(moment, moment),
    }


def looked_after(at: str, moment: str) -> str:
    """Return when the sweep should look after a delivery that is to be tried at a time, as seen from a moment.

    What is so near is queued by then, so that the sweep only finds what was lost.
    """
    near = at <= after(moment, seconds=MAX_DELAY_SECONDS)
    return after(at, seconds=_LOST_SECONDS) if near else at

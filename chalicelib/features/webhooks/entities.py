"""What is stored of a webhook, and of what is on its way to it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from chalicelib.features.deliveries.entities import Delivery, Subscriber
from chalicelib.features.deliveries.models import DeliveryOut
from chalicelib.features.webhooks.models import Status, WebhookOut
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.storage.entity import Collection, Facet, ItemKey, Quota, ScheduledTask
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import Job

MOST_WEBHOOKS: Final = 50
MOST_SECRETS: Final = 5
"""Secrets of one webhook that sign at the same time."""

_ERASED: Final = {
    "enabled": False,
    "parked_until": None,
    "disabled_reason": "Its URL named a person who was erased. Give it another.",
}

SEND: Final = "webhooks.send"
PROBE: Final = "webhooks.probe"


class WebhookDelivery(Delivery):
    """The delivery of an event to a webhook."""

    kind, parameter = "organization.webhook.delivery", "delivery_id"
    pk, sk = "V#{webhook_id}", "{id}"
    subscriber = "webhook_id"
    by_status = Facet("V#{webhook_id}#S#{status}", "facet1")
    by_event_type = Facet("V#{webhook_id}#E#{event_type}", "facet2")
    output_model = DeliveryOut

    webhook_id: str


class Webhook(Subscriber):
    """A webhook of an organization. `secrets`: each `{sealed, until}`, the present one first, whose `until` is null.

    `failing_since`: since when no attempt has succeeded. `misconfigured_since`: since when the name of its target does
    not exist, or its certificate is not valid, as far as was seen. `answers`: whether it gave an answer in time, if
    only a bad one, when it was last asked; `silences`: how often in a row it did not. Events wait as long as it is not
    `caught_up`: until a probe, at `parked_until`, is answered, and then until all that waited is sent, in its order; or
    until its host may be sent more.
    `disabling`: why it is about to be disabled; nothing is sent to it any more.
    """

    kind, parameter = "organization.webhook", "webhook_id"
    pk, sk = "O#{organization_id}", "W#{id}"
    in_organization = Collection("O#{organization_id}", "W#{id}")
    quota = Quota("webhooks", "O#{organization_id}", MOST_WEBHOOKS, lambda _webhook: True)
    output_model = WebhookOut
    version_fields = ("version", "parked_until")
    untracked_fields = Subscriber.untracked_fields | {"failingSince"}  # its health is no change that somebody made
    task, delivery = SEND, WebhookDelivery

    url: str
    description: str | None = None
    secrets: list[dict[str, Any]] = field(default_factory=list)
    failing_since: str | None = None
    misconfigured_since: str | None = None
    disabled_reason: str | None = None
    answers: bool = False
    silences: int = 0
    caught_up: bool = False
    parked_until: str | None = None
    disabling: str | None = None

    @property
    def target(self) -> object:
        """Where its events are sent."""
        return self.url

    @property
    def status(self) -> Status:
        """`active`, `paused` by its people, or `disabled` by the service."""
        if self.disabled_reason:
            return "disabled"
        return "active" if self.enabled else "paused"

    @property
    def takes_events(self) -> bool:
        """Whether events are sent to it."""
        return self.status == "active" and self.disabling is None

    @property
    def log_label(self) -> str:
        """Where it leads to."""
        return self.url

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets neither its description nor its URL name the person; with another URL it is disabled."""
        named = person.redact_all({"description": self.description, "url": self.url})
        return {**named, **_ERASED} if "url" in named else named

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """When it is probed, or what waited for it is sent."""
        return ScheduledTask(PROBE, self.parked_until) if self.parked_until else None


class DisabledNotice(Job):
    """The mail that tells an organization's admins of a webhook that the service has disabled.

    `told` is the id of the last member who got it.
    """

    kind, task = "organization.webhook.disabled_notice", "webhooks.notify"
    pk, sk = "O#{organization_id}", "N#{id}"

    organization_id: str
    webhook_id: str
    told: str | None = None

    @classmethod
    def of(cls, webhook: Webhook, moment: str) -> "DisabledNotice":
        """Return the notice of a webhook that is disabled at a moment."""
        place = webhook.organization_id
        return cls(**new_record_fields(moment), turn_at=moment, organization_id=place, webhook_id=webhook.id)


class Disabling(Job):
    """A webhook that takes no events and is about to be disabled, since a failure or an answer that was seen."""

    kind, task = "organization.webhook.disabling", "webhooks.disable"
    pk, sk = "O#{organization_id}", "F#{id}"

    organization_id: str
    webhook_id: str
    failing_since: str | None = None

    @property
    def webhook_key(self) -> ItemKey:
        """Where the webhook is stored."""
        return Webhook.make_item_key(organization_id=self.organization_id, id=self.webhook_id)

    @classmethod
    def of(cls, webhook: Webhook, failing_since: str | None, moment: str) -> "Disabling":
        """Return what is to be done about a webhook that takes no events, as was seen at a moment."""
        place = webhook.organization_id
        return cls(
            **new_record_fields(moment),
            turn_at=moment,
            organization_id=place,
            webhook_id=webhook.id,
            failing_since=failing_since,
        )


class Exhaustion(Job):
    """A delivery that has failed for good, with the attempt of this number, and of which the log does not say so yet.

    `due_before` and `completed_at`: when that attempt was due, and when it had failed.
    """

    kind, task = "organization.webhook.exhaustion", "webhooks.exhaust"
    pk, sk = "O#{organization_id}", "E#{id}"

    organization_id: str
    webhook_id: str
    delivery_id: str
    attempt: int
    due_before: str | None = None
    completed_at: str | None = None

    @property
    def delivery_key(self) -> ItemKey:
        """Where the delivery is stored."""
        return WebhookDelivery.make_item_key(webhook_id=self.webhook_id, id=self.delivery_id)

    @classmethod
    def of(cls, before: Delivery, failed: Delivery, moment: str) -> "Exhaustion":
        """Return what is to be told of a delivery that was to be tried before, and has failed at a moment."""
        return cls(
            **new_record_fields(moment),
            turn_at=moment,
            organization_id=failed.organization_id,
            webhook_id=failed.subscriber_id,
            delivery_id=failed.id,
            attempt=failed.attempts[-1]["number"],
            due_before=before.next_attempt_at,
            completed_at=failed.completed_at,
        )

    def told(self, present: WebhookDelivery) -> tuple[WebhookDelivery, WebhookDelivery]:
        """Return the delivery before its last attempt, and behind it, whatever somebody asked for since."""
        made = [each for each in present.attempts if each["number"] <= self.attempt]
        failed = present.replace(status="failed", attempts=made, next_attempt_at=None, completed_at=self.completed_at)
        waiting = [each for each in made if each["number"] < self.attempt]
        before = failed.replace(status="pending", attempts=waiting, next_attempt_at=self.due_before, completed_at=None)
        return before, failed

"""What is stored of a webhook, and of what is on its way to it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from chalicelib.features.deliveries.entities import Delivery, Subscriber
from chalicelib.features.deliveries.models import DeliveryOut
from chalicelib.features.webhooks.models import Status, WebhookOut
from chalicelib.kernel.entity import Collection, Due, Facet, Limit
from chalicelib.kernel.ids import beginning
from chalicelib.kernel.jobs import Job
from chalicelib.kernel.person import Person

MOST_WEBHOOKS: Final = 50
MOST_SECRETS: Final = 5
"""Secrets of one webhook that sign at the same time."""

_ERASED: Final = {
    "enabled": False, "parked_until": None,
    "disabled_reason": "Its URL named a person who was erased. Give it another.",
}  # fmt: skip

SEND: Final = "webhooks.send"
PROBE: Final = "webhooks.probe"


class WebhookDelivery(Delivery):
    """The delivery of an event to a webhook."""

    kind, parameter = "organization.webhook.delivery", "delivery_id"
    pk, sk = "V#{webhook_id}", "{id}"
    subscriber = "webhook_id"
    pending = Collection("V#{webhook_id}#P", "{next_attempt_at}#{id}", index="index1")
    by_status = Facet("V#{webhook_id}#S#{status}", "facet1")
    by_event_type = Facet("V#{webhook_id}#E#{event_type}", "facet2")
    public = DeliveryOut

    webhook_id: str


class Webhook(Subscriber):
    """A webhook of an organization. `secrets`: each `{sealed, until}`, the present one first, whose `until` is null.

    `failing_since`: since when no attempt has succeeded. `answers`: whether it gave an answer in time, if only a bad
    one, when it was last asked; `silences`: how often in a row it did not. Events wait as long as it is not
    `caught_up`: until a probe, at `parked_until`, is answered, and then until all that waited is sent, in its order.
    """

    kind, parameter = "organization.webhook", "webhook_id"
    pk, sk = "O#{organization_id}", "W#{id}"
    in_organization = Collection("O#{organization_id}", "W#{id}")
    limit = Limit("webhooks", "O#{organization_id}", MOST_WEBHOOKS, lambda _webhook: True)
    public = WebhookOut
    guarded_by = ("version", "parked_until")
    unlogged = Subscriber.unlogged | {"failingSince"}  # its health is no change that somebody made
    task, delivery = SEND, WebhookDelivery

    url: str
    description: str | None = None
    secrets: list[dict[str, Any]] = field(default_factory=list)
    failing_since: str | None = None
    disabled_reason: str | None = None
    answers: bool = False
    silences: int = 0
    caught_up: bool = False
    parked_until: str | None = None

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
    def name_shown(self) -> str:
        """Where it leads to."""
        return self.url

    def without(self, person: Person) -> Mapping[str, Any] | None:
        """Return what lets neither its description nor its URL name the person; with another URL it is disabled."""
        named = person.out_of_all({"description": self.description, "url": self.url})
        return {**named, **_ERASED} if "url" in named else named

    @property
    def due(self) -> Due | None:
        """When it is probed, or what waited for it is sent."""
        return Due(PROBE, self.parked_until) if self.parked_until else None


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
        return cls(**beginning(moment), turn_at=moment, organization_id=place, webhook_id=webhook.id)

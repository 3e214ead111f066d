"""Stored records of webhooks and their deliveries."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Final

from chalicelib.features.notifications.entities import AdminNotice, Delivery, RecipientWithSecrets, Subscriber
from chalicelib.features.notifications.models.schemas import DeliveryOut
from chalicelib.features.notifications.webhooks.models.attempt_counts import build_counts_update
from chalicelib.features.notifications.webhooks.models.circuit import Circuit
from chalicelib.features.notifications.webhooks.models.schemas import WebhookOut
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.storage.entity import Collection, Facet, ItemKey, ScheduledTask
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.work.jobs import Job

MAX_WEBHOOKS: Final = 50
"""Webhooks of an organization."""

_ERASED_URL_FIELDS: Final = {
    "enabled": False,
    "disabled_reason": "Its URL named a person who was erased. Give it another.",
}

SEND_TASK: Final = "webhooks.send"
PROBE_TASK: Final = "webhooks.probe"


class WebhookDelivery(Delivery):
    """The delivery of an event to a webhook."""

    kind, parameter = "organization.webhook.delivery", "delivery_id"
    pk, sk = "V#{webhook_id}", "{id}"
    subscriber_field = "webhook_id"
    by_status = Facet("V#{webhook_id}#S#{status}", "facet1")
    by_event_type = Facet("V#{webhook_id}#E#{event_type}", "facet2")
    output_model = DeliveryOut

    webhook_id: str

    def attempt_writes(self, responses: Sequence[WebhookResponse], now: str) -> list[Write]:
        """Return the write that counts the attempts in the statistics of the webhook."""
        return [build_counts_update(self.item_key[0], responses, now).to_write()]


class Webhook(RecipientWithSecrets, Subscriber):
    """A webhook of an organization, with the state of its circuit breaker.

    `Circuit` describes the fields of the circuit breaker.
    """

    kind, parameter = "organization.webhook", "webhook_id"
    pk, sk = "O#{organization_id}", "W#{id}"
    in_organization = Collection("O#{organization_id}", "W#{id}")
    quota = Quota("webhooks", "O#{organization_id}", MAX_WEBHOOKS, lambda _webhook: True)
    output_model = WebhookOut
    encryption_context_prefix = "webhook"
    version_fields = ("version", "probe_at")
    untracked_fields = Subscriber.untracked_fields | {"failingSince"}  # the service sets it, not a user
    attribute_names: ClassVar = {
        "responsive": "answers",
        "consecutive_timeouts": "silences",
        "backlog_drained": "caught_up",
        "probe_at": "parked_until",
        "pending_disable_reason": "disabling",
    }
    send_task, delivery_type = SEND_TASK, WebhookDelivery
    log_rules = LogRules(
        ended_by=("organization.webhook.deleted",), unlogged_changes="Deliveries store when they began to fail."
    )
    unauthenticated_fields: ClassVar = dict.fromkeys(
        (each.name for each in fields(Circuit)), "The functions that send deliveries store it. They cannot use the key."
    )

    url: str
    description: str | None = None
    failing_since: str | None = None
    misconfigured_since: str | None = None
    responsive: bool = False
    consecutive_timeouts: int = 0
    backlog_drained: bool = False
    probe_at: str | None = None
    pending_disable_reason: str | None = None

    @property
    def circuit(self) -> Circuit:
        """Return the state of the circuit breaker. Its `to_fields` are the fields to update."""
        return Circuit(**{each.name: getattr(self, each.name) for each in fields(Circuit)})

    @property
    def stored_url(self) -> object:
        """Return the URL that receives the events."""
        return self.url

    @property
    def is_active_and_not_being_disabled(self) -> bool:
        """Return whether events are sent to it."""
        return self.status == "active" and not self.circuit.is_being_disabled

    @property
    def sends_or_skips_backlog(self) -> bool:
        """Return whether deliveries of its backlog are sent, or skipped because it gets nothing any more."""
        return self.circuit.responsive or not self.is_active_and_not_being_disabled

    def require_active(self) -> None:
        """Raise Problem `invalid_transition` unless the webhook is active."""
        if self.status != "active":
            detail = f'The webhook is {self.status} and receives no events. Set {{"enabled": true}} first.'
            raise Problem("invalid_transition", detail)

    @property
    def audit_log_label(self) -> str:
        """Return the URL, which stands for the webhook in the log."""
        return self.url

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person from description and URL. A changed URL disables the webhook."""
        redacted = person.redacted_field_changes({"description": self.description, "url": self.url})
        if "url" not in redacted:
            return redacted
        return {**redacted, **_ERASED_URL_FIELDS, "probe_at": None}

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the next probe, or the time to send the backlog."""
        return ScheduledTask(PROBE_TASK, self.probe_at) if self.probe_at else None


class DisabledNotice(AdminNotice):
    """The email to an organization's admins about a webhook that the service disabled."""

    kind, task = "organization.webhook.disabled_notice", "webhooks.notify"
    pk, sk = "O#{organization_id}", "N#{id}"

    webhook_id: str

    @property
    def recipient_key(self) -> ItemKey:
        """Return the item key of the webhook."""
        return Webhook.make_item_key(organization_id=self.organization_id, id=self.webhook_id)

    @classmethod
    def create(cls, webhook: Webhook, timestamp: str) -> "DisabledNotice":
        """Return the notice about a webhook that is disabled now."""
        organization_id = webhook.organization_id
        return cls(
            **new_id_and_time_fields(timestamp),
            lease_until=timestamp,
            organization_id=organization_id,
            webhook_id=webhook.id,
        )


class DisableJob(Job):
    """The job that disables a webhook to which no events are sent any more."""

    kind, task = "organization.webhook.disabling", "webhooks.disable"
    pk, sk = "O#{organization_id}", "F#{id}"

    organization_id: str
    webhook_id: str
    failing_since: str | None = None

    @property
    def webhook_key(self) -> ItemKey:
        """Return the item key of the webhook."""
        return Webhook.make_item_key(organization_id=self.organization_id, id=self.webhook_id)

    @classmethod
    def create(cls, webhook: Webhook, failing_since: str | None, timestamp: str) -> "DisableJob":
        """Return the job that disables a webhook."""
        organization_id = webhook.organization_id
        return cls(
            **new_id_and_time_fields(timestamp),
            lease_until=timestamp,
            organization_id=organization_id,
            webhook_id=webhook.id,
            failing_since=failing_since,
        )


class ExhaustionJob(Job):
    """The job that records in the log that the last attempt of a delivery failed.

    `due_before` is the time at which that attempt was due, and `completed_at` the time at which it failed.
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
        """Return the item key of the delivery."""
        return WebhookDelivery.make_item_key(webhook_id=self.webhook_id, id=self.delivery_id)

    @classmethod
    def create(cls, delivery_before: Delivery, failed_delivery: Delivery, timestamp: str) -> "ExhaustionJob":
        """Return the job that records a failed delivery in the log."""
        return cls(
            **new_id_and_time_fields(timestamp),
            lease_until=timestamp,
            organization_id=failed_delivery.organization_id,
            webhook_id=failed_delivery.subscriber_id,
            delivery_id=failed_delivery.id,
            attempt=failed_delivery.attempts[-1]["number"],
            due_before=delivery_before.next_attempt_at,
            completed_at=failed_delivery.completed_at,
        )

    def deliveries_around_failure(self, current_delivery: WebhookDelivery) -> tuple[WebhookDelivery, WebhookDelivery]:
        """Return the delivery before and after its last attempt, without any retry that was requested since."""
        attempts = [attempt for attempt in current_delivery.attempts if attempt["number"] <= self.attempt]
        failed = current_delivery.replace(
            status="failed", attempts=attempts, next_attempt_at=None, completed_at=self.completed_at
        )
        earlier_attempts = [attempt for attempt in attempts if attempt["number"] < self.attempt]
        before = failed.replace(
            status="pending", attempts=earlier_attempts, next_attempt_at=self.due_before, completed_at=None
        )
        return before, failed

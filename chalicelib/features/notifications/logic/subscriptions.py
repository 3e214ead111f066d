"""The subscriptions of a log as of each entry.

They are derived from the log: an entry about a subscriber contains its settings from then on. The transaction that
advances the offset of the fan-out also stores the subscriptions. So a change takes effect with its own entry, whenever
that entry is processed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chalicelib.features.notifications.entities import Delivery, Subscriber
from chalicelib.features.notifications.models.event_areas import accepts_event_type
from chalicelib.kernel.audit_log.application_events import is_application_event
from chalicelib.kernel.audit_log.entries import RECEIVED_AT
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import find_record_type, get_record_type

_DELETED_SUFFIX: Final = ".deleted"
_DISABLED_EVENT: Final = "organization.webhook.disabled"
_WEBHOOK_DELIVERY_TYPE: Final = "organization.webhook.delivery"


@dataclass(frozen=True)
class Subscription:
    """The settings of a subscriber as of an entry.

    `takes` is whether the subscriber is active. If not, its deliveries are skipped. `free_at` is the earliest time for
    its next message.
    """

    kind: str
    events: Sequence[str]
    takes: bool
    free_at: str = ""
    areas: Sequence[str] | None = None

    def accepts_event_type(self, event_type: str) -> bool:
        """Return whether the subscriber wants events of a type, and may receive them."""
        return accepts_event_type(self.events, self.areas, event_type)


@dataclass(frozen=True)
class SubscriptionSet:
    """All subscriptions of a log as of an entry, by subscriber id."""

    by_subscriber_id: Mapping[str, Subscription] = field(default_factory=dict)

    @classmethod
    def from_item(cls, item: Item | None) -> "SubscriptionSet":
        """Return the subscriptions in an item."""
        return cls(
            {subscriber_id: Subscription(**fields) for subscriber_id, fields in item["of"].items()} if item else {}
        )

    def with_entry(self, entry: Mapping[str, Any]) -> "SubscriptionSet":
        """Return the subscriptions after a built-in entry, which may be about a subscriber."""
        target, data = entry["target"], entry["data"]
        subscriber_type = find_record_type(target["type"])
        if not (subscriber_type and issubclass(subscriber_type, Subscriber)):
            return self
        others = {each: subscription for each, subscription in self.by_subscriber_id.items() if each != target["id"]}
        if entry["type"].endswith(_DELETED_SUFFIX) or not data:
            return SubscriptionSet(others)
        is_active = data["enabled"] and data["status"] == "active"
        previous = self.by_subscriber_id.get(target["id"])
        subscription = Subscription(
            subscriber_type.kind, data["events"], is_active, previous.free_at if previous else "", data.get("areas")
        )
        return SubscriptionSet(dict(sorted({**others, target["id"]: subscription}.items())))

    def recipient_ids(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the ids of the subscribers that receive an entry, in a stable order."""
        excluded_id = _excluded_webhook_id_or_none(entry)
        return [
            subscriber_id
            for subscriber_id, subscription in self.by_subscriber_id.items()
            if subscription.accepts_event_type(entry["type"]) and subscriber_id != excluded_id
        ]

    def planned_delivery_and_updated_set(
        self, subscriber_id: str, entry: Mapping[str, Any], sequence: int, now: str
    ) -> tuple[Delivery, "SubscriptionSet"]:
        """Return the delivery of an entry to a subscriber at the next free time, and the updated subscriptions."""
        subscription = self.by_subscriber_id[subscriber_id]
        subscriber_type = get_record_type(subscription.kind)
        assert issubclass(subscriber_type, Subscriber)  # noqa: S101 - `with_entry` accepts no other types
        attempt_at = max(now, subscription.free_at)
        delivery = subscriber_type.delivery_type.create_pending_or_skipped(
            subscriber_id,
            event_id=entry["id"],
            event_type=entry["type"],
            organization_id=entry["organizationId"],
            sequence=sequence,
            received_at=entry.get(RECEIVED_AT) or entry["occurredAt"],
            now=now,
            attempt_at=attempt_at if subscription.takes else None,
        )
        if not (subscriber_type.min_interval_seconds and subscription.takes):
            return delivery, self
        updated = replace(subscription, free_at=after(attempt_at, seconds=subscriber_type.min_interval_seconds))
        return delivery, SubscriptionSet({**self.by_subscriber_id, subscriber_id: updated})

    def to_item(self, log_id: str) -> Item:
        """Return the subscriptions as an item."""
        pk, sk = subscriptions_key(log_id)
        return {
            "pk": pk,
            "sk": sk,
            "of": {each: vars(subscription) for each, subscription in self.by_subscriber_id.items()},
        }


def _excluded_webhook_id_or_none(entry: Mapping[str, Any]) -> str | None:
    """Return the id of the webhook that does not receive an entry, because it is about that webhook's own deliveries.

    Otherwise each failed or repeated delivery of a webhook would add to its backlog.
    """
    if is_application_event(entry):
        return None
    if entry["type"] == _DISABLED_EVENT:
        return str(entry["target"]["id"])
    return entry["data"]["webhookId"] if entry["target"]["type"] == _WEBHOOK_DELIVERY_TYPE else None


def subscriptions_key(log_id: str) -> ItemKey:
    """Return the item key of a log's subscriptions."""
    return f"F#{log_id}", "#"

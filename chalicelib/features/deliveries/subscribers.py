"""Who is subscribed to a log, as of each of its entries.

That follows from the log itself: an entry about a subscriber says how it is from then on. It is kept beside the cursor
of what was delivered and written with it, so a change holds from its own entry on, whenever that entry is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chalicelib.features.deliveries.entities import Delivery, Subscriber
from chalicelib.features.deliveries.event_types import within
from chalicelib.features.deliveries.rules import wants
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.record_types import find_record_type, record_type

_GONE: Final = ".deleted"
_OF_ITS_OWN: Final = {
    "organization.webhook.disabled": "id",
    "organization.webhook.delivery_exhausted": "webhookId",
}
"""Events about a webhook's own failures, which it is not told, and where their data names it."""


@dataclass(frozen=True)
class Subscription:
    """What a subscriber wants as of an entry. `free_at`: when the next message to it may be sent."""

    kind: str
    events: Sequence[str]
    takes: bool
    free_at: str = ""
    areas: Sequence[str] | None = None

    def wants(self, event_type: str) -> bool:
        """Return whether it wants to be told of a type of event, and may."""
        return wants(self.events, event_type) and within(event_type, self.areas)


@dataclass(frozen=True)
class Subscribers:
    """Everyone who is subscribed to a log as of an entry, by their ids."""

    of: Mapping[str, Subscription] = field(default_factory=dict)

    @classmethod
    def stored(cls, item: Item | None) -> "Subscribers":
        """Return what an item holds."""
        return cls({name: Subscription(**one) for name, one in item["of"].items()} if item else {})

    def after(self, said: Mapping[str, Any]) -> "Subscribers":
        """Return who is subscribed from an entry on, if it is about one of them."""
        target, data = said["target"], said["data"]
        kind = find_record_type(target["type"])
        if not (kind and issubclass(kind, Subscriber)):
            return self
        others = {name: one for name, one in self.of.items() if name != target["id"]}
        if said["type"].endswith(_GONE) or not data:
            return Subscribers(others)
        takes = data["enabled"] and data["status"] == "active"
        former = self.of.get(target["id"])
        subscription = Subscription(
            kind.kind, data["events"], takes, former.free_at if former else "", data.get("areas")
        )
        return Subscribers(dict(sorted({**others, target["id"]: subscription}.items())))

    def wanting(self, said: Mapping[str, Any]) -> list[str]:
        """Return the ids of those that are told of an entry, in an order that stays."""
        own = said["data"].get(_OF_ITS_OWN[said["type"]]) if said["type"] in _OF_ITS_OWN else None
        return [name for name, one in self.of.items() if one.wants(said["type"]) and name != own]

    def planned(self, name: str, said: Mapping[str, Any], sequence: int, moment: str) -> tuple[Delivery, "Subscribers"]:
        """Return the delivery of an entry to one of them, at the next moment that is free for it."""
        one = self.of[name]
        kind = record_type(one.kind)
        assert issubclass(kind, Subscriber)  # noqa: S101 - `after` took no others
        at = max(moment, one.free_at)
        delivery = kind.delivery.planned(
            name,
            event_id=said["id"],
            event_type=said["type"],
            organization_id=said["organizationId"],
            sequence=sequence,
            occurred_at=said["occurredAt"],
            now=moment,
            at=at if one.takes else None,
        )
        if not (kind.spacing_seconds and one.takes):
            return delivery, self
        spaced = replace(one, free_at=after(at, seconds=kind.spacing_seconds))
        return delivery, Subscribers({**self.of, name: spaced})

    def item(self, log: str) -> Item:
        """Return them as they are stored."""
        pk, sk = subscribers_key(log)
        return {"pk": pk, "sk": sk, "of": {name: vars(one) for name, one in self.of.items()}}


def subscribers_key(log: str) -> ItemKey:
    """Return where the subscribers of a log are kept."""
    return f"F#{log}", "#"

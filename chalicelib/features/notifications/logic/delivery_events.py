"""The events of deliveries: log entries, as their subscribers receive them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.events.types.logic.definitions import UnknownType, definition_keys, find_definition
from chalicelib.features.notifications.entities import Delivery
from chalicelib.features.notifications.logic.event_payloads import build_event_payload
from chalicelib.kernel.audit_log.entries import body_key, entry_key
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey


@dataclass(frozen=True)
class DeliveryEvent:
    """An event as its subscribers receive it: the log entry and its sequence.

    `declared_sentence`: the sentence of the type of an application event, if it was loaded and is declared.
    """

    entry: Mapping[str, Any]
    sequence: int
    declared_sentence: str | None = None

    @property
    def request_id(self) -> str | None:
        """Return the id of the request that caused the event; None for an event of the service itself."""
        request_id: str | None = self.entry["context"]["requestId"]
        return request_id

    def encode_request_body(self) -> bytes:
        """Return the event as the body of a webhook request, with the same bytes in each attempt."""
        return to_json(build_event_payload(self.entry, self.sequence))


def load_events_by_id(deliveries: Sequence[Delivery], *, with_sentences: bool = False) -> dict[str, DeliveryEvent]:
    """Return the events of deliveries of one organization by id, without erased ones.

    `with_sentences`: also read the declared types of application events, together with the entries.
    """
    application_events = [each for each in deliveries if is_application_type(each.event_type)]
    declared_types = {each.event_type for each in application_events if with_sentences}
    items = table.get_all(
        [
            *(entry_key(each.organization_id, each.id) for each in deliveries),
            *(body_key(each.organization_id, each.id) for each in application_events),  # never in the entry's item
            *(key for each in declared_types for key in definition_keys(each, None)),
        ]
    )
    sentences = {each: _declared_sentence_or_none(items, each) for each in declared_types}
    return _events_in_items_by_id(deliveries, items, sentences)


def _declared_sentence_or_none(items: Mapping[ItemKey, Item], event_type: str) -> str | None:
    with suppress(UnknownType):
        return find_definition(items, event_type, None).sentence
    return None


def event_in_items_or_none(delivery: Delivery, items: Mapping[ItemKey, Item]) -> DeliveryEvent | None:
    """Return the event of a delivery from the items at the keys of its entry, or None if it was erased."""
    return _events_in_items_by_id([delivery], items, {}).get(delivery.id)


def _events_in_items_by_id(
    deliveries: Sequence[Delivery], items: Mapping[ItemKey, Item], sentences: Mapping[str, str | None]
) -> dict[str, DeliveryEvent]:
    by_key = {entry_key(delivery.organization_id, delivery.id): delivery for delivery in deliveries}
    entry_items = [items[key] for key in by_key if key in items]
    entries = logs.load_stored_entries(deliveries[0].organization_id, entry_items, loaded=items) if entry_items else []
    found = [(by_key[entry.item["pk"], entry.item["sk"]], entry.body) for entry in entries]
    return {
        delivery.id: DeliveryEvent(from_json(body), delivery.sequence, sentences.get(delivery.event_type))
        for delivery, body in found
        if isinstance(body, bytes)
    }

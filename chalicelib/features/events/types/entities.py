"""The stored records of event types, and of the versions of their schemas."""

from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.events.types.models import EventTypeOut
from chalicelib.kernel.core.event_patterns import EVENT_TYPE_PATTERN
from chalicelib.kernel.storage.entity import Collection, Entity, Item, ItemKey
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.storage.quotas import Quota

MAX_EVENT_TYPES: Final = 200
"""Event types of a deployment."""

TYPE_NAMES_PARTITION: Final = "EVENT-TYPE-NAMES"
"""The partition with the names of all event types, without their schemas, so that one Query reads them."""


class EventType(Entity):
    """An event type of the application, with the latest version of its schema.

    Each has a partition of its own, because every request that writes such an event reads it. `schema_created_at` has
    the time of each version of the schema, in their order. `schema_digest` identifies the schema in caches. `example`
    is data that the schema accepts, or None.
    """

    kind, parameter, id_field = "system.event_type", "event_type", "type"
    parameter_pattern = EVENT_TYPE_PATTERN
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    pk, sk = "EVENT-TYPE#{type}", "#"
    by_name = Collection("EVENT-TYPES", "{type}", index="index1")
    quota = Quota(
        "event types",
        "EVENT-TYPES",
        MAX_EVENT_TYPES,
        lambda _type: True,
        advice="Event types cannot be removed. Use one that exists, if necessary with a new version of its schema.",
    )
    json_fields = frozenset({"data_schema", "example"})
    output_model = EventTypeOut

    type: str
    description: str
    sentence: str
    deprecated: bool
    data_schema: dict[str, Any]
    schema_digest: str
    schema_created_at: list[str]
    example: dict[str, Any] | None = None

    @property
    def latest_version(self) -> int:
        """The latest version of the schema."""
        return len(self.schema_created_at)

    @property
    def versions(self) -> Iterator[dict[str, Any]]:
        """Yield the number and the time of each version of the schema."""
        return ({"version": number, "created_at": at} for number, at in enumerate(self.schema_created_at, start=1))

    @property
    def audit_log_label(self) -> str:
        """The name of the type."""
        return self.type

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the item that lists the name of the type."""
        return ({"pk": TYPE_NAMES_PARTITION, "sk": self.type},)


class SchemaVersion(Entity):
    """A version of the schema of an event type. It never changes."""

    kind, parameter, id_field = "system.event_type.schema_version", "version", "number"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    pk, sk = "EVENT-TYPE#{type}", "V#{number}"
    json_fields = frozenset({"data_schema", "example"})

    type: str
    number: int
    data_schema: dict[str, Any]
    schema_digest: str
    example: dict[str, Any] | None = None


def version_key(event_type: str, number: int) -> ItemKey:
    """Return the key of a version of the schema of an event type."""
    return SchemaVersion.make_item_key(type=event_type, number=str(number))

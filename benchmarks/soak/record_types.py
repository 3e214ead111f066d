"""The types of records that a soak creates, changes and deletes, each with a unique name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class RecordType:
    """The paths of a type of record, with placeholders for a tenant's containers, and the field that holds the name.

    `creation_event` is the event that logs a creation.
    """

    name: str
    creation_event: str
    create_path: str
    record_path: str
    list_path: str
    name_field: str
    extra_fields: Mapping[str, Any]

    def create_body(self, name: str, path_values: Mapping[str, str]) -> dict[str, Any]:
        """Return the body that creates a record with a name."""
        return {
            self.name_field: name,
            **{
                field: value.format_map(path_values) if isinstance(value, str) else value
                for field, value in self.extra_fields.items()
            },
        }


_PLATFORM_FIELDS: Final = {"platformId": "{platform}"}

RECORD_TYPES: Final = (
    RecordType(
        "space",
        "space.created",
        "/spaces",
        "/spaces/{id}",
        "/platforms/{platform}/spaces",
        "name",
        _PLATFORM_FIELDS,
    ),
    RecordType(
        "node",
        "taxonomy.node.created",
        "/taxonomy-nodes",
        "/taxonomy-nodes/{id}",
        "/platforms/{platform}/taxonomy-nodes",
        "name",
        _PLATFORM_FIELDS,
    ),
    RecordType(
        "page",
        "page.created",
        "/sites/{site}/pages",
        "/sites/{site}/pages/{id}",
        "/sites/{site}/pages",
        "title",
        {},
    ),
    RecordType(
        "webhook",
        "organization.webhook.created",
        "/organizations/{organization}/webhooks",
        "/organizations/{organization}/webhooks/{id}",
        "/organizations/{organization}/webhooks",
        "description",
        {"url": "{endpoint}", "events": ["organization.purged"]},
    ),
)

"""The kinds of records that a soak makes, changes and deletes, each by a name that nothing else has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class RecordType:
    """Where such records are made, found and listed, by the places of a tenant, and the field that names one.

    `event`: what the log says when one is made.
    """

    name: str
    creation_event: str
    create_path: str
    record_path: str
    list_path: str
    name_field: str
    extra_fields: Mapping[str, Any]

    def create_body(self, name: str, path_values: Mapping[str, str]) -> dict[str, Any]:
        """Return what makes one of that name."""
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
        {"url": "{elsewhere}", "events": ["organization.purged"]},
    ),
)

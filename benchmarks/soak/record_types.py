"""The kinds of records that a soak makes, changes and deletes, each by a name that nothing else has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Kind:
    """Where such records are made, found and listed, by the places of a tenant, and the field that names one.

    `event`: what the log says when one is made.
    """

    name: str
    event: str
    made_at: str
    found_at: str
    listed_at: str
    named_by: str
    extra_fields: Mapping[str, Any]

    def body(self, name: str, places: Mapping[str, str]) -> dict[str, Any]:
        """Return what makes one of that name."""
        return {
            self.named_by: name,
            **{
                field: value.format_map(places) if isinstance(value, str) else value
                for field, value in self.extra_fields.items()
            },
        }


_IN_A_PLATFORM: Final = {"platformId": "{platform}"}

KINDS: Final = (
    Kind(
        "space",
        "space.created",
        "/spaces",
        "/spaces/{id}",
        "/platforms/{platform}/spaces",
        "name",
        _IN_A_PLATFORM,
    ),
    Kind(
        "node",
        "taxonomy.node.created",
        "/taxonomy-nodes",
        "/taxonomy-nodes/{id}",
        "/platforms/{platform}/taxonomy-nodes",
        "name",
        _IN_A_PLATFORM,
    ),
    Kind(
        "page",
        "page.created",
        "/sites/{site}/pages",
        "/sites/{site}/pages/{id}",
        "/sites/{site}/pages",
        "title",
        {},
    ),
    Kind(
        "webhook",
        "organization.webhook.created",
        "/organizations/{organization}/webhooks",
        "/organizations/{organization}/webhooks/{id}",
        "/organizations/{organization}/webhooks",
        "description",
        {"url": "{elsewhere}", "events": ["organization.purged"]},
    ),
)

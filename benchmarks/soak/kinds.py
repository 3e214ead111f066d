"""The kinds of records that a soak makes, changes and deletes, each by a name that nothing else has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Kind:
    """Where such records are made and found, below the places of a tenant, and the field that names one."""

    name: str
    made_at: str
    found_at: str
    named_by: str
    also: Mapping[str, Any]

    def body(self, name: str, places: Mapping[str, str]) -> dict[str, Any]:
        """Return what makes one of that name."""
        return {
            self.named_by: name,
            **{
                field: value.format_map(places) if isinstance(value, str) else value
                for field, value in self.also.items()
            },
        }


_IN_A_PLATFORM: Final = {"platformId": "{platform}"}

KINDS: Final = (
    Kind("space", "/spaces", "/spaces/{id}", "name", _IN_A_PLATFORM),
    Kind("node", "/taxonomy-nodes", "/taxonomy-nodes/{id}", "name", _IN_A_PLATFORM),
    Kind("page", "/sites/{site}/pages", "/sites/{site}/pages/{id}", "title", {}),
    Kind("webhook", "/organizations/{organization}/webhooks", "/organizations/{organization}/webhooks/{id}",
         "description", {"url": "{elsewhere}", "events": ["organization.purged"]}),
)  # fmt: skip

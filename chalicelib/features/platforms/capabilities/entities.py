"""The stored capabilities of a space."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.features.platforms.capabilities.models import CapabilityOut, CapabilitySetOut
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.log_rules import rules_of_set_items
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_sets import RecordSet


class Capability(Entity):
    """A capability of a space. The service stores it, and does not interpret its key or settings."""

    kind, parameter, id_field = "space.capability", "capability_key", "capability_key"
    log_rules = rules_of_set_items(
        "space.capabilities.replaced",
        "capabilityKey",
        lambda space_id, key: Capability.make_item_key(space_id=space_id, capability_key=key),
        ended_by=("space.capability.removed",),
    )
    parameter_pattern = IDENTIFIER_PATTERN
    pk, sk = "S#{space_id}", "C#{capability_key}"
    in_space = Collection("S#{space_id}", "C#{capability_key}")
    output_model = CapabilityOut

    organization_id: str
    platform_id: str
    space_id: str
    capability_key: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def audit_log_label(self) -> str:
        """The capability key."""
        return self.capability_key

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the settings with the person's data redacted."""
        return person.redacted_field_changes({"settings": self.settings})


class CapabilitySet(RecordSet):
    """All capabilities of a space."""

    kind = "space.capabilities"
    item_key_field = "capabilityKey"
    output_model = CapabilitySetOut

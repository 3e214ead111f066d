"""The stored module settings of platforms, and the overrides of spaces."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.features.platforms.modules.models.schemas import ModuleSetOut, OverrideOut, OverrideSetOut
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.log_rules import LogRules, entries_about_others, rules_of_set_items
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_sets import RecordSet


class PlatformModule(Entity):
    """The settings of a module on a platform. `enabled` is None while the default applies.

    `depends_on`: the ids of the modules on which a module of the platform's own depends, or None without any.
    """

    kind = "platform.module"
    log_rules = LogRules(has_entries=False, changed_by=entries_about_others("platform.modules.updated"))
    pk, sk = "P#{platform_id}", "C#M#{module_id}"
    in_platform = Collection("P#{platform_id}", "C#M#{module_id}")

    organization_id: str
    platform_id: str
    module_id: str
    enabled: bool | None = None
    locked: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    depends_on: list[str] | None = None

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the settings with the person's data redacted."""
        return person.redacted_field_changes({"settings": self.settings})


class ModuleSet(RecordSet):
    """The modules of a platform, including those of the catalogue without stored settings."""

    kind = "platform.modules"
    max_items = 100
    advice = "Remove the settings of another first: send null for its enabled, locked and settings."
    item_key_field = "moduleId"
    output_model = ModuleSetOut


class ModuleOverride(Entity):
    """The override of a module by a space."""

    kind, parameter, id_field = "space.module_override", "module_id", "module_id"
    log_rules = rules_of_set_items(
        "space.module_overrides.replaced",
        "moduleId",
        lambda space_id, key: ModuleOverride.make_item_key(space_id=space_id, module_id=key),
        ended_by=("space.module_override.removed",),
    )
    parameter_pattern = IDENTIFIER_PATTERN
    pk, sk = "S#{space_id}", "V#{module_id}"
    in_space = Collection("S#{space_id}", "V#{module_id}")
    output_model = OverrideOut

    organization_id: str
    platform_id: str
    space_id: str
    module_id: str
    enabled: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def audit_log_label(self) -> str:
        """The module id."""
        return self.module_id

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the settings with the person's data redacted."""
        return person.redacted_field_changes({"settings": self.settings})


class ModuleOverrideSet(RecordSet):
    """All module overrides of a space."""

    kind = "space.module_overrides"
    item_key_field = "moduleId"
    output_model = OverrideSetOut

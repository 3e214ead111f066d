"""What is stored of the modules of platforms and spaces."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.features.modules.models import ModuleSetOut, OverrideOut, OverrideSetOut
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.record_sets import RecordSet


class PlatformModule(Entity):
    """What a platform says of a module. It says nothing of whether it is on as long as `enabled` is None."""

    kind = "platform.module"
    pk, sk = "P#{platform_id}", "C#M#{module_id}"
    in_platform = Collection("P#{platform_id}", "C#M#{module_id}")

    organization_id: str
    platform_id: str
    module_id: str
    enabled: bool | None = None
    locked: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets its settings not name the person."""
        return person.redact_all({"settings": self.settings})


class ModuleSet(RecordSet):
    """The modules of a platform, those of the catalogue that it says nothing of included."""

    kind = "platform.modules"
    most = 100
    advice = "Let the platform forget one first: send null for its enabled, locked and settings."
    keyed_by = "moduleId"
    output_model = ModuleSetOut


class ModuleOverride(Entity):
    """What a space says of a module."""

    kind, parameter, id_field = "space.module_override", "module_id", "module_id"
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
    def log_label(self) -> str:
        """The module's id."""
        return self.module_id

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets its settings not name the person."""
        return person.redact_all({"settings": self.settings})


class OverrideSet(RecordSet):
    """All that a space says of modules."""

    kind = "space.module_overrides"
    keyed_by = "moduleId"
    output_model = OverrideSetOut

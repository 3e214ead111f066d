"""Request and response models of the module operations."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.platforms.models.schemas import Warned
from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, deduplicate, unique_by
from chalicelib.kernel.http.models import Input, Output, RecordOutput

PlatformModuleSource = Literal["system", "platform"]
EffectiveModuleSource = Literal["system", "platform", "space", "dependency"]

MAX_MODULES_PER_REQUEST: Final = 40
"""Modules that one request can change."""

MAX_DEPENDENCIES: Final = 20
"""Maximum number of modules on which a module can depend."""

LOCKED: Final = "locked"
"""The entry in `blockedBy` of a module that the platform locks, so that the override of the space has no effect."""
UNKNOWN_MODULE: Final = "unknown_module"
"""The entry in `blockedBy` of an override for a module that the platform does not have."""

_SETTINGS_EXAMPLE: Final = {"columns": 2}
_CHANGES_EXAMPLE: Final = [
    {"moduleId": "events", "enabled": True, "locked": True},
    {"moduleId": "inspections", "dependsOn": ["events"], "settings": {"title": "Gauge inspections"}},
]
_DEPENDS_ON_TEXT: Final = "Modules that must be on for this one to be on."


def _reject_reasons(module_id: str) -> str:
    if module_id in (LOCKED, UNKNOWN_MODULE):
        raise ValueError("is a word of `blockedBy`; a module with this id can't be a dependency")
    return module_id


DependencyId = Annotated[Identifier, AfterValidator(_reject_reasons), Field(examples=["discussions"])]
"""The id of a module on which another one depends."""


class ModuleChange(Input):
    """A change of one module of a platform. Omitted fields keep their values.

    Null for `enabled`, `locked` and `settings` removes the platform's settings of the module.
    """

    module_id: Identifier = Field(
        description="Id of a module of the catalogue, or of the platform's own.", examples=["events"]
    )
    enabled: bool | None = Field(None, description="Null resets to the default, which is on.", examples=[False])
    locked: bool | None = Field(
        None, description="Whether spaces can't override it. Null resets to false.", examples=[True]
    )
    settings: JsonObject | None = Field(
        None,
        description="A JSON Merge Patch of the settings (RFC 7396). Null removes all settings.",
        examples=[_SETTINGS_EXAMPLE],
    )
    depends_on: list[DependencyId] | None = Field(
        None,
        max_length=MAX_DEPENDENCIES,
        description=f"{_DEPENDS_ON_TEXT} Only modules of the platform's own can change it. Null removes all.",
        examples=[None],
    )


class ModulesPatch(Input):
    """The modules to change, at most 40 in one request.

    Modules that the list does not contain stay as they are.
    """

    modules: Annotated[list[ModuleChange], unique_by("module_id")] = Field(
        [], max_length=MAX_MODULES_PER_REQUEST, examples=[_CHANGES_EXAMPLE]
    )


def _deduplicate_or_none(module_ids: list[str] | None) -> list[str] | None:
    return deduplicate(module_ids or []) or None


class ModuleState(Input):
    """The settings of a module on a platform."""

    enabled: bool | None = None
    locked: bool = False
    settings: JsonObject = Field({})
    depends_on: Annotated[list[DependencyId] | None, AfterValidator(_deduplicate_or_none)] = None


class ModuleOut(Output):
    """A part of your product that a platform can switch on and off, such as a forum.

    The name of a platform's own module is its id. To give it a display name, store one in `settings`.
    """

    module_id: str = Field(examples=["events"])
    name: str = Field(examples=["Events"])
    enabled: bool
    locked: bool = Field(description="Whether spaces can't override it.", examples=[False])
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])
    source: PlatformModuleSource = Field(
        description="`platform` if the platform has settings for the module, else `system`.", examples=["platform"]
    )
    depends_on: list[str] = Field(description=_DEPENDS_ON_TEXT, examples=[[]])


class UpdatedModuleListItem(ModuleOut):
    """A module of a platform after a change of its modules.

    Modules that the request did not contain are as they were.
    """


class ModuleWarnings(Output):
    """Problems of a change of modules that took effect.

    They are part of the response to the change, and not stored.
    """

    warnings: list[Warned] = Field(
        description="New modules of the platform's own whose ids are similar to the id of another module.",
        examples=[[]],
    )


class ModuleSetOut(RecordOutput):
    """The modules of a platform, with the id and version of the platform.

    It is the data of the event that reports a change of them.
    """

    items: list[ModuleOut]


BlockedBy = Annotated[
    list[str],
    Field(
        description=f"Why the state is not as configured: `{LOCKED}` if the platform's lock makes the override of the "
        f"space ineffective, `{UNKNOWN_MODULE}` if the platform lacks the overridden module, and the ids of the "
        "dependencies that are off, if they are why the module is off.",
        examples=[[]],
    ),
]


class EffectiveModuleOut(Output):
    """The effective state of a module in a space, and where it comes from.

    `blockedBy` lists what keeps the module from the state that the platform or the space configured.
    """

    module_id: str = Field(examples=["events"])
    enabled: bool
    source: EffectiveModuleSource = Field(
        description=(
            "What decided: the catalogue (`system`), the platform, the space, or a dependency of the module. It is"
            " `space` for a module that the platform lacks, because only the override of the space names it."
        ),
        examples=["space"],
    )
    inherited: bool = Field(
        description="Whether the platform has the module and no override of the space applies.", examples=[False]
    )
    locked: bool = Field(description="Whether the platform prevents overrides.", examples=[False])
    settings: dict[str, Any] = Field(
        description="Settings of the platform, deeply merged with those of an override that applies.",
        examples=[_SETTINGS_EXAMPLE],
    )
    blocked_by: BlockedBy


class OverrideWrite(Input):
    """The state of a module that a space sets for itself.

    An omitted `enabled` is true, whatever the platform has set. `settings` are merged into those of the platform, so an
    omitted one is inherited. The response shows in `effective` whether the override has an effect.
    """

    module_id: Identifier = Field(examples=["events"])
    enabled: bool = Field(default=True, examples=[False])
    settings: JsonObject = Field({}, examples=[_SETTINGS_EXAMPLE])


class OverridesPut(Input):
    """All module overrides of a space.

    Overrides that the list does not contain are removed, so the space inherits those modules again.
    """

    overrides: Annotated[list[OverrideWrite], unique_by("module_id")] = Field(max_length=MAX_MODULES_PER_REQUEST)


class OverrideOut(RecordOutput):
    """What one space sets for a module instead of inheriting it from the platform.

    It has no effect while the platform locks the module.
    """

    id_field = "module_id"

    space_id: Uuid
    module_id: str = Field(examples=["events"])
    enabled: bool = Field(examples=[False])
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])


class OverrideEffectOut(Output):
    """The state of the overridden module in the space.

    It differs from the override if something blocks it: the platform locked the module or does not have it, or a module
    on which it depends is disabled.
    """

    enabled: bool = Field(examples=[False])
    locked: bool = Field(description="Whether the platform prevents overrides.", examples=[False])
    blocked_by: BlockedBy


class OverrideWithEffectOut(OverrideOut):
    """The override of a module by a space, and its present effect.

    A space can override a module that its platform has locked. The override is stored and takes effect when the lock
    ends.
    """

    effective: OverrideEffectOut


class OverrideSetOut(RecordOutput):
    """All module overrides of a space, with the id and version of the space.

    It is the data of the event that reports their replacement.
    """

    items: list[OverrideOut]

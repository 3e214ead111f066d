"""Request and response models of the module operations."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, unique_by
from chalicelib.kernel.http.models import Input, Output, RecordOutput

PlatformModuleSource = Literal["system", "platform"]
EffectiveModuleSource = Literal["system", "platform", "space", "dependency"]

MAX_MODULES_PER_REQUEST: Final = 40

_SETTINGS_EXAMPLE: Final = {"columns": 2}


class ModuleChange(Input):
    """A change of one module of a platform. Omitted fields keep their values.

    Null for all three fields removes the platform's settings of the module.
    """

    module_id: Identifier = Field(
        description="Id of a module of the catalogue, or of the platform's own.", examples=["events"]
    )
    enabled: bool | None = Field(None, description="Null resets to the default, which is on.", examples=[False])
    locked: bool | None = Field(None, description="Whether spaces can't override it. Null resets to false.")
    settings: JsonObject | None = Field(
        None,
        description="A JSON Merge Patch of the settings (RFC 7396). Null removes all settings.",
        examples=[_SETTINGS_EXAMPLE],
    )


class ModulesPatch(Input):
    """The modules to change, at most 40 in one request.

    Modules that the list does not contain stay as they are.
    """

    modules: Annotated[list[ModuleChange], unique_by("module_id")] = Field([], max_length=MAX_MODULES_PER_REQUEST)


class ModuleState(Input):
    """The settings of a module on a platform."""

    enabled: bool | None = None
    locked: bool = False
    settings: JsonObject = Field({})


class ModuleOut(Output):
    """A part of your product that a platform can switch on and off, such as a forum.

    The name of a platform's own module is its id.
    """

    module_id: str = Field(examples=["events"])
    name: str = Field(examples=["Events"])
    enabled: bool
    locked: bool = Field(description="Whether spaces can't override it.", examples=[False])
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])
    source: PlatformModuleSource = Field(
        description="`platform` if the platform has settings for the module, else `system`.", examples=["platform"]
    )
    depends_on: list[str] = Field(description="Modules that must be on for this one to be on.", examples=[[]])


class ModuleSetOut(RecordOutput):
    """The modules of a platform, with the id and version of the platform.

    It is the data of the event that reports a change of them.
    """

    items: list[ModuleOut]


class EffectiveModuleOut(Output):
    """The effective state of a module in a space, and where it comes from.

    `blockedBy` lists the modules that prevent it from being enabled.
    """

    module_id: str = Field(examples=["events"])
    enabled: bool
    source: EffectiveModuleSource = Field(
        description="What decided: the catalogue, the platform, the space, or a dependency of the module.",
        examples=["space"],
    )
    inherited: bool = Field(description="Whether no override of the space applies.", examples=[False])
    locked: bool = Field(description="Whether the platform prevents overrides.", examples=[False])
    settings: dict[str, Any] = Field(
        description="Settings of the platform, deeply merged with those of an override that applies.",
        examples=[_SETTINGS_EXAMPLE],
    )
    blocked_by: list[str] = Field(
        description="Dependencies that are off, if they are why the module is off.", examples=[[]]
    )


class OverrideWrite(Input):
    """The state of a module that a space sets for itself.

    Omitted fields get their defaults, not those of the platform.
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


class OverrideSetOut(RecordOutput):
    """All module overrides of a space, with the id and version of the space.

    It is the data of the event that reports their replacement.
    """

    items: list[OverrideOut]

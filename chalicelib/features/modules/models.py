"""What the operations on modules accept and answer."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, unique_by
from chalicelib.kernel.http.models import Input, Output, RecordOutput

PlatformSource = Literal["system", "platform"]
Source = Literal["system", "platform", "space", "dependency"]

MOST_AT_ONCE: Final = 40

_SETTINGS: Final = {"columns": 2}


class ModuleChange(Input):
    """What is to change of a module; what is left out stays.

    Null for all three forgets what the platform said of it.
    """

    module_id: Identifier = Field(
        description="One of the catalogue or, if it isn't, of the platform's own.", examples=["events"]
    )
    enabled: bool | None = Field(None, description="Null stands for the default: on.", examples=[False])
    locked: bool | None = Field(None, description="Whether spaces can't override it. Null stands for false.")
    settings: JsonObject | None = Field(
        None, description="A JSON Merge Patch of its settings (RFC 7396). Null removes them all.", examples=[_SETTINGS]
    )


class ModulesPatch(Input):
    """Which modules are to change."""

    modules: Annotated[list[ModuleChange], unique_by("module_id")] = Field([], max_length=MOST_AT_ONCE)


class ModuleState(Input):
    """What a platform says of a module."""

    enabled: bool | None = None
    locked: bool = False
    settings: JsonObject = Field({})


class ModuleOut(Output):
    """A module of a platform. Of the platform's own modules the name is the id."""

    module_id: str = Field(examples=["events"])
    name: str = Field(examples=["Events"])
    enabled: bool
    locked: bool = Field(description="Whether spaces can't override it.", examples=[False])
    settings: dict[str, Any] = Field(examples=[_SETTINGS])
    source: PlatformSource = Field(
        description="`system` until the platform says something of it.", examples=["platform"]
    )
    depends_on: list[str] = Field(description="Which modules have to be on, or it is off.", examples=[[]])


class ModuleSetOut(RecordOutput):
    """The modules of a platform; id and version are the platform's."""

    items: list[ModuleOut]


class EffectiveModuleOut(Output):
    """A module as it is in a space."""

    module_id: str = Field(examples=["events"])
    enabled: bool
    source: Source = Field(
        description="What decided: the catalogue, the platform, the space, or a module that it depends on.",
        examples=["space"],
    )
    inherited: bool = Field(description="Whether no override of the space counts.", examples=[False])
    locked: bool = Field(description="Whether the platform lets no override count.", examples=[False])
    settings: dict[str, Any] = Field(
        description="The platform's, and merged into them, member by member, those of an override that counts.",
        examples=[_SETTINGS],
    )
    blocked_by: list[str] = Field(
        description="Which of the modules that it depends on are off, if that is why it is.", examples=[[]]
    )


class OverrideWrite(Input):
    """What a space says of a module."""

    module_id: Identifier = Field(examples=["events"])
    enabled: bool = Field(default=True, examples=[False])
    settings: JsonObject = Field({}, examples=[_SETTINGS])


class OverridesPut(Input):
    """All that a space says of modules."""

    overrides: Annotated[list[OverrideWrite], unique_by("module_id")] = Field(max_length=MOST_AT_ONCE)


class OverrideOut(RecordOutput):
    """What a space says of a module."""

    id_field = "module_id"

    space_id: Uuid
    module_id: str = Field(examples=["events"])
    enabled: bool = Field(examples=[False])
    settings: dict[str, Any] = Field(examples=[_SETTINGS])


class OverrideSetOut(RecordOutput):
    """All that a space says of modules; id and version are the space's."""

    items: list[OverrideOut]

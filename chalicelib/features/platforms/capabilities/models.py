"""Request and response models of the capability operations."""

from typing import Annotated, Any, Final

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, unique_by
from chalicelib.kernel.http.models import Input, RecordOutput

_SETTINGS_EXAMPLE: Final = {"maxParticipants": 12}


class CapabilityCreate(Input):
    """A capability of a space."""

    capability_key: Identifier = Field(description="A key that the caller chooses.", examples=["video-calls"])
    settings: JsonObject = Field({}, examples=[_SETTINGS_EXAMPLE])


class CapabilitiesPut(Input):
    """All capabilities of a space."""

    capabilities: Annotated[list[CapabilityCreate], unique_by("capability_key")] = Field(max_length=40)


class CapabilityOut(RecordOutput):
    """A capability of a space."""

    id_field = "capability_key"

    space_id: Uuid
    capability_key: str = Field(examples=["video-calls"])
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])


class CapabilitySetOut(RecordOutput):
    """All capabilities of a space, with the id and version of the space."""

    items: list[CapabilityOut]

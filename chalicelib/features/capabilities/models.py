"""What the operations on the capabilities of a space accept and answer."""

from typing import Annotated, Any, Final

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, unique_by
from chalicelib.kernel.http.models import Input, RecordOutput

_SETTINGS: Final = {"maxParticipants": 12}


class CapabilityCreate(Input):
    """A capability of a space."""

    capability_key: Identifier = Field(description="What the callers call it.", examples=["video-calls"])
    settings: JsonObject = Field({}, examples=[_SETTINGS])


class CapabilitiesPut(Input):
    """All capabilities of a space."""

    capabilities: Annotated[list[CapabilityCreate], unique_by("capability_key")] = Field(max_length=40)


class CapabilityOut(RecordOutput):
    """A capability of a space."""

    id_field = "capability_key"

    space_id: Uuid
    capability_key: str = Field(examples=["video-calls"])
    settings: dict[str, Any] = Field(examples=[_SETTINGS])


class CapabilitySetOut(RecordOutput):
    """All capabilities of a space; id and version are the space's."""

    items: list[CapabilityOut]

"""Request and response models of the capability operations."""

from typing import Annotated, Any, Final

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Uuid, unique_by
from chalicelib.kernel.http.models import Input, RecordOutput

_SETTINGS_EXAMPLE: Final = {"maxParticipants": 12}


class CapabilityCreate(Input):
    """A capability to give to a space.

    You choose the key; the settings are any JSON object, up to 64 KiB.
    """

    capability_key: Identifier = Field(description="A key that the caller chooses.", examples=["video-calls"])
    settings: JsonObject = Field({}, examples=[_SETTINGS_EXAMPLE])


class CapabilitiesPut(Input):
    """All capabilities of a space.

    Capabilities that the list does not contain are removed, and an empty list removes all.
    """

    capabilities: Annotated[list[CapabilityCreate], unique_by("capability_key")] = Field(max_length=40)


class CapabilityOut(RecordOutput):
    """Something that a space can do in your product, such as video calls.

    Atrium stores the key and the settings, and your front end interprets them.
    """

    id_field = "capability_key"

    space_id: Uuid
    capability_key: str = Field(examples=["video-calls"])
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])


class CapabilitySetOut(RecordOutput):
    """All capabilities of a space, with the id and version of the space.

    It is the data of the event that reports their replacement.
    """

    items: list[CapabilityOut]

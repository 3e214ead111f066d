"""What the operations on spaces accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Name, Slug, Text, Uuid
from chalicelib.kernel.http.models import Input, Patch, RecordOutput

Visibility = Literal["open", "private"]

MOST_POSITION = 999_999_999


class SpaceCreate(Input):
    """A new space."""

    platform_id: Uuid = Field(description="Where it is, for good.")
    name: Name = Field(examples=["Looms"])
    slug: Slug | None = Field(None, description="Left out, it is derived from the name.", examples=[None])
    description: Text | None = Field(None, examples=["All about weaving."])
    visibility: Visibility = Field("open", description="`private`: there for its own members and admins only.")
    position: int | None = Field(
        None, ge=0, le=MOST_POSITION, description="Where it is listed; left out, behind all others.", examples=[None]
    )


class SpacePatch(Patch):
    """What of a space can be changed."""

    name: Name = Field(examples=["Looms"])
    slug: Slug = Field(description="The former slug is free at once.", examples=["looms"])
    description: Text | None = Field(None, examples=["All about weaving."])
    visibility: Visibility = Field("open", examples=["private"])
    position: int | None = Field(
        None, ge=0, le=MOST_POSITION, description="Null lists it behind all others.", examples=[1]
    )


class SpaceOut(RecordOutput):
    """A space."""

    platform_id: Uuid
    name: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    description: str | None = Field(examples=["All about weaving."])
    visibility: Visibility = Field(examples=["open"])
    position: int = Field(examples=[0])

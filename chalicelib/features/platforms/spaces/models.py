"""Request and response models of the space operations."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Name, Slug, Text, Uuid
from chalicelib.kernel.http.models import Input, Patch, RecordOutput

Visibility = Literal["open", "private"]

MAX_POSITION = 999_999_999


class SpaceCreate(Input):
    """A space to create in a platform.

    Choose the visibility `private` if only its own members should find it.
    """

    platform_id: Uuid = Field(description="The platform that contains the space. It cannot be changed later.")
    name: Name = Field(examples=["Looms"])
    slug: Slug | None = Field(None, description="Derived from the name if omitted.", examples=[None])
    description: Text | None = Field(None, examples=["All about weaving."])
    visibility: Visibility = Field("open", description="Only members and admins see a `private` space.")
    position: int | None = Field(
        None,
        ge=0,
        le=MAX_POSITION,
        description="Position in lists; after all other spaces if omitted.",
        examples=[None],
    )


class SpacePatch(Patch):
    """Changes to a space.

    A space that becomes private is hidden at once from people who are neither its members nor admins of the platform.
    """

    name: Name = Field(examples=["Looms"])
    slug: Slug = Field(description="The former slug becomes available at once.", examples=["looms"])
    description: Text | None = Field(None, examples=["All about weaving."])
    visibility: Visibility = Field("open", examples=["private"])
    position: int | None = Field(
        None, ge=0, le=MAX_POSITION, description="Null moves the space after all others.", examples=[1]
    )


class SpaceOut(RecordOutput):
    """An area of a platform with its own members, modules and capabilities.

    An open one admits every member of the platform.
    """

    platform_id: Uuid
    name: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    description: str | None = Field(examples=["All about weaving."])
    visibility: Visibility = Field(examples=["open"])
    position: int = Field(examples=[0])

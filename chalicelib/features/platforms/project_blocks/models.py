"""Request and response models of the project block operations."""

from typing import Annotated, Any, Final

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Name, unique_by
from chalicelib.kernel.http.models import Input, Output, RecordOutput

_SETTINGS_EXAMPLE: Final = {"columns": 3}


class ProjectBlockWrite(Input):
    """A project block of a platform to store.

    You choose the id, under which your front end knows what to render.
    """

    project_block_id: Identifier = Field(description="An id that the caller chooses.", examples=["showcase"])
    title: Name | None = Field(None, examples=["What we weave"])
    enabled: bool = True
    settings: JsonObject = Field({}, examples=[_SETTINGS_EXAMPLE])


class ProjectBlocksPatch(Input):
    """All project blocks of a platform, in order.

    Null removes them; if omitted, they do not change.
    """

    project_blocks: Annotated[list[ProjectBlockWrite], Field(max_length=40), unique_by("project_block_id")] | None = (
        Field(None, examples=[[{"projectBlockId": "showcase", "title": "What we weave"}]])
    )


class ProjectBlockOut(Output):
    """A part of your product that an organization arranges itself, such as a showcase.

    Your front end renders it from its settings.
    """

    project_block_id: str = Field(examples=["showcase"])
    title: str | None = Field(examples=["What we weave"])
    enabled: bool
    settings: dict[str, Any] = Field(examples=[_SETTINGS_EXAMPLE])


class ProjectBlockSetOut(RecordOutput):
    """All project blocks of a platform, with the id and version of the platform.

    It is the data of the event that reports a change of them.
    """

    items: list[ProjectBlockOut]

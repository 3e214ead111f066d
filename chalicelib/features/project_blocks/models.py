"""What the operations on project blocks accept and answer."""

from typing import Annotated, Any, Final

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, JsonObject, Name, unique_by
from chalicelib.kernel.http.models import Input, Output, RecordOutput

_SETTINGS: Final = {"columns": 3}


class ProjectBlockWrite(Input):
    """A project block of a platform."""

    project_block_id: Identifier = Field(description="What the callers call it.", examples=["showcase"])
    title: Name | None = Field(None, examples=["What we weave"])
    enabled: bool = True
    settings: JsonObject = Field({}, examples=[_SETTINGS])


_Blocks = Annotated[list[ProjectBlockWrite], Field(max_length=40), unique_by("project_block_id")]


class ProjectBlocksPatch(Input):
    """All project blocks of a platform, in their order. Null removes them all; left out they stay."""

    project_blocks: Annotated[list[ProjectBlockWrite], Field(max_length=40), unique_by("project_block_id")] | None = (
        Field(None, examples=[[{"projectBlockId": "showcase", "title": "What we weave"}]])
    )


class ProjectBlockOut(Output):
    """A project block of a platform."""

    project_block_id: str = Field(examples=["showcase"])
    title: str | None = Field(examples=["What we weave"])
    enabled: bool
    settings: dict[str, Any] = Field(examples=[_SETTINGS])


class ProjectBlockSetOut(RecordOutput):
    """All project blocks of a platform; id and version are the platform's."""

    items: list[ProjectBlockOut]

"""What the operations on taxonomies accept and answer."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from chalicelib.kernel.http.fields import Name, Slug, Text, Uuid, fold_text
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, Query, RecordOutput

MOST_DEPTH: Final = 10
MOST_NODES: Final = 10_000
MOST_POSITION: Final = 999_999_999
MOST_LABELS: Final = 20
MOST_TAGS: Final = 15
"""Tags that are created at once: each is six writes of the transaction."""

MOST_TAGS_IN_ALL: Final = 40
SYSTEM_TAGS: Final = ("featured", "pinned", "official", "archived")

NodeKind = Literal["term", "system"]
MatchedBy = Literal["path", "slug", "altLabel", "formerPath"]
Strategy = Literal["cascade", "reparent"]


def _different(labels: list[str]) -> list[str]:
    seen: set[str] = set()
    for label in labels:
        if fold_text(label) in seen:
            raise PydanticCustomError("value_error", "", {"error": f"names {label!r} twice"})
        seen.add(fold_text(label))
    return labels


Labels = Annotated[list[Name], Field(max_length=MOST_LABELS), AfterValidator(_different)]
Tags = Annotated[list[Slug], Field(max_length=MOST_TAGS), AfterValidator(_different)]


class NodeCreate(Input):
    """A new node."""

    platform_id: Uuid = Field(description="Whose taxonomy it is in, for good.")
    name: Name = Field(examples=["Looms"])
    slug: Slug | None = Field(None, description="Left out, it is derived from the name.", examples=[None])
    parent_id: Uuid | None = Field(None, description="Left out, it is a root.", examples=[None])
    description: Text | None = Field(None, examples=["What weaves."])
    alt_labels: Labels = Field([], description="Other names it is found by.", examples=[["Weaving machines"]])
    position: int | None = Field(
        None, ge=0, le=MOST_POSITION, description="Its place among its siblings; left out, the last.", examples=[None]
    )


class NodePatch(Patch):
    """What of a node can be changed. Another `parentId` moves it, and all below it, at once; null makes it a root."""

    name: Name = Field(examples=["Looms"])
    slug: Slug = Field(description="The former path keeps leading here.", examples=["looms"])
    parent_id: Uuid | None = Field(None, examples=[None])
    description: Text | None = Field(None, examples=["What weaves."])
    alt_labels: Labels = Field([], examples=[["Weaving machines"]])
    position: int | None = Field(
        None, ge=0, le=MOST_POSITION, description="Null puts it behind its siblings.", examples=[1]
    )


class NodeOut(RecordOutput):
    """A node of a taxonomy."""

    platform_id: Uuid
    name: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None = Field(description="Null if it is a root.")
    description: str | None = Field(examples=["What weaves."])
    alt_labels: list[str] = Field(examples=[["Weaving machines"]])
    position: int = Field(examples=[0])
    kind: NodeKind = Field(validation_alias="sort", description="`system`: one of the system tags.", examples=["term"])
    path: str = Field(description="The slugs from the root to it.", examples=["machines/looms"])
    depth: int = Field(ge=1, le=MOST_DEPTH, description="1 for a root.", examples=[2])


class BranchOut(NodeOut):
    """A node, and all below it."""

    children: list["BranchOut"] = Field(default_factory=list, description="By position.", examples=[[]])


class TreeOut(Output):
    """A taxonomy as a tree."""

    items: list[BranchOut] = Field(description="The roots, by position.")
    next_cursor: None = Field(None, description="A tree is answered whole.", examples=[None])


class ResolvedOut(Output):
    """The node that a path, a slug or a label leads to."""

    node: NodeOut
    ancestors: list[NodeOut] = Field(description="The root first.")
    matched_by: MatchedBy = Field(examples=["path"])


class SystemTagsCreate(Input):
    """The system tags there have to be."""

    tags: Tags = Field([*SYSTEM_TAGS], description="Their slugs.", examples=[["featured", "pinned"]])


class SystemTagsOut(Output):
    """The system tags that were asked for."""

    items: list[NodeOut]
    created: int = Field(description="How many of them are new.", examples=[2])
    next_cursor: None = Field(None, description="They are answered whole.", examples=[None])


class SystemTagSetOut(RecordOutput):
    """The system tags of a platform, whose id and version it has."""

    items: list[NodeOut] = Field(description="By position.")


class NodesQuery(ListQuery):
    """Which nodes."""

    parent_id: Uuid | None = Field(None, description="Those right below a node.", examples=[None])
    kind: NodeKind | None = None
    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["loo"],
        description="Those whose name begins so, whatever its case and accents; they are listed by name.",
    )


class TreeQuery(Query):
    """Which part of the tree."""

    depth: int | None = Field(None, ge=1, le=MOST_DEPTH, description="So many levels of it.", examples=[2])
    root_id: Uuid | None = Field(None, description="A node, and what is below it.", examples=[None])


class ResolveQuery(Query):
    """What leads to the node: a path, or else a slug or another label."""

    path: str | None = Field(None, max_length=1000, description="As in `path`.", examples=["machines/looms"])
    slug: str | None = Field(
        None,
        max_length=200,
        examples=["looms"],
        description="A slug or, if no node has it, another label, whatever its case and accents.",
    )


class DeleteQuery(Query):
    """What becomes of what is below a node."""

    strategy: Strategy | None = Field(
        None,
        examples=["reparent"],
        description="`cascade`: it is deleted too. `reparent`: it moves to the node's parent; at most 25 children can.",
    )

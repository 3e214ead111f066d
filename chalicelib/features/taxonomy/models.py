"""Request and response models of the taxonomy operations."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from chalicelib.kernel.http.fields import Name, Slug, Text, Uuid, fold_case_accents_and_spaces
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, Query, RecordOutput

MAX_DEPTH: Final = 10
"""Levels of the taxonomy."""

MAX_NODES: Final = 10_000
"""Nodes of a platform's taxonomy."""

MAX_POSITION: Final = 999_999_999
"""Largest position of a node among its siblings."""

MAX_LABELS: Final = 20
"""Labels of a node."""

MAX_TAGS_PER_REQUEST: Final = 15
"""Maximum number of tags per request. Each new tag takes six writes of the transaction."""

MAX_SYSTEM_TAGS: Final = 40
"""System tags of a platform."""

DEFAULT_SYSTEM_TAGS: Final = ("featured", "pinned", "official", "archived")

NodeKind = Literal["term", "system"]
MatchedBy = Literal["path", "slug", "altLabel", "formerPath"]
DeleteStrategy = Literal["cascade", "reparent"]


def _reject_duplicate_labels(labels: list[str]) -> list[str]:
    seen_labels: set[str] = set()
    for label in labels:
        if fold_case_accents_and_spaces(label) in seen_labels:
            raise PydanticCustomError("value_error", "", {"error": f"names {label!r} twice"})
        seen_labels.add(fold_case_accents_and_spaces(label))
    return labels


NodeLabels = Annotated[list[Name], Field(max_length=MAX_LABELS), AfterValidator(_reject_duplicate_labels)]
TagSlugs = Annotated[list[Slug], Field(max_length=MAX_TAGS_PER_REQUEST), AfterValidator(_reject_duplicate_labels)]


class NodeCreate(Input):
    """A node to create, as a root or below a parent.

    Its slug is unique among its siblings; if you omit it, it is derived from the name.
    """

    platform_id: Uuid = Field(description="The platform of the taxonomy. It cannot be changed later.")
    name: Name = Field(examples=["Looms"])
    slug: Slug | None = Field(None, description="Derived from the name if omitted.", examples=[None])
    parent_id: Uuid | None = Field(None, description="The parent node; a root if omitted.", examples=[None])
    description: Text | None = Field(None, examples=["What weaves."])
    alt_labels: NodeLabels = Field(
        [], description="Other names under which the node is found.", examples=[["Weaving machines"]]
    )
    position: int | None = Field(
        None, ge=0, le=MAX_POSITION, description="Position among the siblings; last if omitted.", examples=[None]
    )


class NodePatch(Patch):
    """Changes to a node, which take effect for its whole subtree.

    Another `parentId` moves the node with its subtree; null makes it a root.
    """

    name: Name = Field(examples=["Looms"])
    slug: Slug = Field(description="The former path continues to resolve to the node.", examples=["looms"])
    parent_id: Uuid | None = Field(None, examples=[None])
    description: Text | None = Field(None, examples=["What weaves."])
    alt_labels: NodeLabels = Field([], examples=[["Weaving machines"]])
    position: int | None = Field(
        None, ge=0, le=MAX_POSITION, description="Null moves the node after its siblings.", examples=[1]
    )


class NodeOut(RecordOutput):
    """A category in the taxonomy of a platform.

    Its path consists of the slugs from the root to it, and follows when a node above it moves.
    """

    platform_id: Uuid
    name: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None = Field(description="Null if it is a root.")
    description: str | None = Field(examples=["What weaves."])
    alt_labels: list[str] = Field(examples=[["Weaving machines"]])
    position: int = Field(examples=[0])
    kind: NodeKind = Field(validation_alias="sort", description="`system` for a system tag.", examples=["term"])
    path: str = Field(
        description="The slugs from the root to the node, joined by slashes.", examples=["machines/looms"]
    )
    depth: int = Field(ge=1, le=MAX_DEPTH, description="The level of the node; 1 for a root.", examples=[2])


class BranchOut(NodeOut):
    """A node with its subtree, as the taxonomy tree contains it.

    `children` is empty for a leaf, and below the requested depth.
    """

    children: list["BranchOut"] = Field(default_factory=list, description="Ordered by position.", examples=[[]])


class TreeOut(Output):
    """A taxonomy as a tree, from its roots or from one node.

    It is a snapshot: it contains every change completely or not at all.
    """

    content_etag = True

    items: list[BranchOut] = Field(description="The roots, ordered by position.")
    next_cursor: None = Field(None, description="Always null: a tree is not paginated.", examples=[None])


class ResolvedOut(Output):
    """The node to which a path, a slug or a label resolves, with the nodes above it.

    `matchedBy` says what matched, such as a former path.
    """

    content_etag = True

    node: NodeOut
    ancestors: list[NodeOut] = Field(description="Ordered from the root down.")
    matched_by: MatchedBy = Field(examples=["path"])


class SystemTagsCreate(Input):
    """The slugs of the system tags that must exist.

    If omitted, they are `featured`, `pinned`, `official` and `archived`.
    """

    tags: TagSlugs = Field(
        [*DEFAULT_SYSTEM_TAGS], description="The slugs of the tags.", examples=[["featured", "pinned"]]
    )


class SystemTagsOut(Output):
    """The requested system tags, those that existed included.

    `created` counts the tags that were new.
    """

    items: list[NodeOut]
    created: int = Field(description="The number of tags that were created.", examples=[2])
    next_cursor: None = Field(None, description="Always null: the tags are not paginated.", examples=[None])


class SystemTagSetOut(RecordOutput):
    """The system tags of a platform, with the id and version of the platform.

    It is the data of the event that reports new ones.
    """

    items: list[NodeOut] = Field(description="Ordered by position.")


class NodesQuery(ListQuery):
    """Filters of the list of nodes."""

    parent_id: Uuid | None = Field(None, description="Only the children of this node.", examples=[None])
    kind: NodeKind | None = None
    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["loo"],
        description="Prefix of the name, ignoring case and accents. The nodes are ordered by name then.",
    )


class TreeQuery(Query):
    """The part of the tree to return."""

    depth: int | None = Field(None, ge=1, le=MAX_DEPTH, description="Number of levels to return.", examples=[2])
    root_id: Uuid | None = Field(None, description="Return only the subtree of this node.", examples=[None])


class ResolveQuery(Query):
    """The path of the node, or else its slug or another label."""

    path: str | None = Field(
        None, max_length=1000, description="A path as in the `path` of a node.", examples=["machines/looms"]
    )
    slug: str | None = Field(
        None,
        max_length=200,
        examples=["looms"],
        description="A slug or, if no node has it, another label, ignoring case and accents.",
    )


class DeleteQuery(Query):
    """How to treat the subtree of a deleted node."""

    strategy: DeleteStrategy | None = Field(
        None,
        examples=["reparent"],
        description="`cascade` deletes the subtree. `reparent` moves the children, at most 25, to the parent.",
    )

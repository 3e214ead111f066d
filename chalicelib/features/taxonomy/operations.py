"""Taxonomy: create, find, change, move and delete nodes; the tree; what a path leads to; the system tags."""

from chalicelib.features.platforms.entities import Platform, at_platform
from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.finding import list_nodes, tree_beside
from chalicelib.features.taxonomy.models import (
    DeleteQuery,
    NodeCreate,
    NodeOut,
    NodePatch,
    NodesQuery,
    ResolvedOut,
    ResolveQuery,
    SystemTagsCreate,
    SystemTagsOut,
    TreeOut,
    TreeQuery,
)
from chalicelib.features.taxonomy.placing import change, fell, plant, surroundings
from chalicelib.features.taxonomy.resolving import by_path, by_word, signposts
from chalicelib.features.taxonomy.tagging import create_tags
from chalicelib.features.taxonomy.trees import tree
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("taxonomy")
in_platforms = RouteGroup("platforms", routes.operations)


def path_beside(request: Request) -> list[ItemKey]:
    """Return where the tree stands, and what leads along the path that the query names."""
    platform_id = request.parameters["platform_id"]
    return [*tree_beside(request), *signposts(platform_id, request.query.get("path", [""])[-1])]


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-nodes",
    access=at_platform(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    prefetch=tree_beside,
)
def list_platform_taxonomy_nodes(ctx: Context, platform: Platform, query: NodesQuery) -> ListPage[NodeOut]:
    """List the nodes of a platform's taxonomy, by position whatever their level; with `q` by name.

    With several filters a page may be short.
    """
    return list_nodes(ctx, platform.id, query)


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-resolve",
    access=at_platform(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    prefetch=path_beside,
)
def resolve_taxonomy_path(ctx: Context, platform: Platform, query: ResolveQuery) -> ResolvedOut:
    """Find the node that a path leads to or, without one, a slug or another label.

    A path that a node had, or one of its ancestors, leads to where it is now, unless another has it. Of several nodes
    that have a slug or a label the oldest is found; a slug goes before a label.
    """
    if not (query.path or query.slug):
        raise ValidationProblem(
            [FieldError(f"query/{name}", "required", "Send `path` or `slug`.") for name in ("path", "slug")]
        )
    found = by_path(platform.id, query.path, dict(ctx.access.prefetched)) if query.path else None
    if not query.path and query.slug:
        found = by_word(platform.id, query.slug)
    if found is None:
        raise not_found()
    node, matched_by = found
    ancestors = [NodeOut.of(ancestor) for ancestor in node.ancestors]
    return ResolvedOut(node=NodeOut.of(node), ancestors=ancestors, matched_by=matched_by)


@in_platforms.post(
    "/platforms/{platform_id}/taxonomy-system-tags",
    success=200,
    access=at_platform(Role.ADMIN),
    scope="taxonomy:write",
    emits="taxonomy.system_tags.created",
    prefetch=tree_beside,
)
def create_system_tags(ctx: Context, platform: Platform, body: SystemTagsCreate) -> SystemTagsOut:
    """Create those of some system tags that there are not yet, as roots; their slugs and parents are fixed."""
    return create_tags(ctx, platform, body.tags)


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-tree",
    access=at_platform(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    prefetch=tree_beside,
    alternative="Ask for fewer levels by `depth`, for one branch by `rootId`, or list the nodes.",
)
def get_taxonomy_tree(ctx: Context, platform: Platform, query: TreeQuery) -> TreeOut:
    """Get the tree of a platform's taxonomy as it is at one moment: all of it, some levels, or what is below a node."""
    return tree(ctx, platform.id, query)


@routes.post(
    "/taxonomy-nodes",
    access=at_platform(Role.EDITOR, in_body=True),
    scope="taxonomy:write",
    emits="taxonomy.node.created",
    prefetch=surroundings,
)
def create_taxonomy_node(ctx: Context, platform: Platform, body: NodeCreate) -> NodeOut:
    """Create a node, as a root or below another."""
    return NodeOut.of(plant(ctx, platform, body))


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=at_platform(Role.MEMBER, via_record=TaxonomyNode),
    scope="taxonomy:read",
    emits=None,
)
def get_taxonomy_node(_ctx: Context, node: TaxonomyNode) -> NodeOut:
    """Get a node."""
    return NodeOut.of(node)


@routes.patch(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=at_platform(Role.EDITOR, via_record=TaxonomyNode),
    scope="taxonomy:write",
    emits="taxonomy.node.updated",
    prefetch=surroundings,
)
def update_taxonomy_node(ctx: Context, node: TaxonomyNode, body: NodePatch) -> NodeOut:
    """Change a node; another `parentId` moves it. The paths of all below it follow at once, and the former lead on."""
    return NodeOut.of(change(ctx, node, body))


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=at_platform(Role.EDITOR, via_record=TaxonomyNode),
    scope="taxonomy:write",
    emits="taxonomy.node.deleted",
    prefetch=tree_beside,
)
def delete_taxonomy_node(ctx: Context, node: TaxonomyNode, query: DeleteQuery) -> None:
    """Delete a node that has no children and is attached to nothing, or say what becomes of them.

    With `cascade` all below it is gone at once, and removed soon after. With `reparent` its children move to its
    parent, 25 at most, and what was below its path is found by that still. What it was attached to it is so no more.
    System tags stay.
    """
    fell(ctx, node, query.strategy)

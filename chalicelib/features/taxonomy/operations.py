"""HTTP operations on taxonomy nodes, the tree, the resolution of paths, and system tags."""

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
    """Return the keys of the tree state and the slug index for the path in the query, for prefetching."""
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
    """List the nodes of a platform's taxonomy on all levels, by position, or by name if `q` is given.

    A page may be short if several filters are given.
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
    """Resolve a path or, without a path, a slug or another label to a node.

    A former path of a node, or of one of its ancestors, resolves to the node unless another node has the path now. If
    several nodes have a slug or label, the oldest one is returned. Slugs take precedence over labels.
    """
    if not (query.path or query.slug):
        raise ValidationProblem(
            [FieldError(f"query/{name}", "required", "Send `path` or `slug`.") for name in ("path", "slug")]
        )
    match = by_path(platform.id, query.path, dict(ctx.access.prefetched)) if query.path else None
    if not query.path and query.slug:
        match = by_word(platform.id, query.slug)
    if match is None:
        raise not_found()
    node, matched_by = match
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
    """Create the requested system tags that do not exist yet, as roots. Their slugs and parents can't be changed."""
    return create_tags(ctx, platform, body.tags)


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-tree",
    access=at_platform(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    prefetch=tree_beside,
    alternative="Request fewer levels with `depth`, one branch with `rootId`, or list the nodes.",
)
def get_taxonomy_tree(ctx: Context, platform: Platform, query: TreeQuery) -> TreeOut:
    """Get a consistent snapshot of a platform's taxonomy tree, optionally limited to some levels or one subtree."""
    return tree(ctx, platform.id, query)


@routes.post(
    "/taxonomy-nodes",
    access=at_platform(Role.EDITOR, in_body=True),
    scope="taxonomy:write",
    emits="taxonomy.node.created",
    prefetch=surroundings,
)
def create_taxonomy_node(ctx: Context, platform: Platform, body: NodeCreate) -> NodeOut:
    """Create a node as a root or below another node."""
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
    """Change a node. Another `parentId` moves it with its subtree at once, and former paths continue to resolve."""
    return NodeOut.of(change(ctx, node, body))


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=at_platform(Role.EDITOR, via_record=TaxonomyNode),
    scope="taxonomy:write",
    emits="taxonomy.node.deleted",
    prefetch=tree_beside,
)
def delete_taxonomy_node(ctx: Context, node: TaxonomyNode, query: DeleteQuery) -> None:
    """Delete a node without children and attachments, or with the given strategy for them.

    `cascade` hides the subtree at once and removes it soon after. `reparent` moves the children, at most 25, to the
    parent of the node, and their former paths continue to resolve. The attachments of the node are removed. System tags
    can't be deleted.
    """
    fell(ctx, node, query.strategy)

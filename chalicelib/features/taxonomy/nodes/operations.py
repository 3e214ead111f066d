"""HTTP operations on taxonomy nodes, the tree, the resolution of paths, and system tags."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.logic.node_queries import TaxonomyTree, list_nodes
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
from chalicelib.features.taxonomy.nodes.logic.node_changes import (
    TreeWithPosition,
    create_node,
    delete_node,
    update_node,
)
from chalicelib.features.taxonomy.nodes.logic.path_resolution import (
    find_match_by_path,
    find_match_by_slug_or_alt_label,
    slug_index_keys,
)
from chalicelib.features.taxonomy.nodes.logic.system_tags import create_missing_tags
from chalicelib.features.taxonomy.nodes.logic.tree_view import load_tree_output
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import ContainerReference, OfRecord
from chalicelib.kernel.operations.inputs import KnownValues
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("taxonomy", scope_areas=(ScopeArea("taxonomy", members_read_all=True),))
platform_routes = RouteGroup("platforms", routes.operations)


class QueriedNodePath(TaxonomyTree):
    """The state of the tree, and the slug index items of the path in the query."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the state and of the slug index items."""
        slug_keys = slug_index_keys(values.parameters["platform_id"], values.query.path or "")
        return [*super().derive_keys(values), *slug_keys]


@platform_routes.get(
    "/platforms/{platform_id}/taxonomy-nodes",
    access=require_platform_role(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
)
def list_platform_taxonomy_nodes(
    ctx: Context, platform: Platform, query: NodesQuery, tree: TaxonomyTree
) -> ListPage[NodeOut]:
    """List the nodes of a platform's taxonomy on all levels, by position, or by name if `q` is given.

    A page may be short if several filters are given.
    """
    return list_nodes(ctx, platform.id, query, tree)


@platform_routes.get(
    "/platforms/{platform_id}/taxonomy-resolve",
    access=require_platform_role(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
)
def resolve_taxonomy_path(
    _ctx: Context, platform: Platform, query: ResolveQuery, queried_path: QueriedNodePath
) -> ResolvedOut:
    """Resolve a path or, without a path, a slug or another label to a node.

    A former path of a node, or of one of its ancestors, resolves to the node unless another node has the path now. If
    several nodes have a slug or label, the oldest one is returned. Slugs take precedence over labels.
    """
    if not (query.path or query.slug):
        raise ValidationProblem(
            [FieldError(f"query/{name}", "required", "Send `path` or `slug`.") for name in ("path", "slug")]
        )
    match = find_match_by_path(platform.id, query.path, dict(queried_path.items)) if query.path else None
    if not query.path and query.slug:
        match = find_match_by_slug_or_alt_label(platform.id, query.slug)
    if match is None:
        raise not_found()
    node, matched_by = match
    ancestors = [NodeOut.of(ancestor) for ancestor in node.ancestors]
    return ResolvedOut(node=NodeOut.of(node), ancestors=ancestors, matched_by=matched_by)


@platform_routes.post(
    "/platforms/{platform_id}/taxonomy-system-tags",
    success=200,
    access=require_platform_role(Role.ADMIN),
    scope="taxonomy:write",
    emits="taxonomy.system_tags.created",
)
def create_system_tags(ctx: Context, platform: Platform, body: SystemTagsCreate, tree: TaxonomyTree) -> SystemTagsOut:
    """Create the requested system tags that do not exist yet, as roots. Their slugs and parents can't be changed.

    System tags are nodes on which your front end relies, such as `featured`. The operation can be repeated: tags that
    exist are not changed, and `created` counts the new ones.
    """
    return create_missing_tags(ctx, platform, body.tags, tree.state_or_none)


@platform_routes.get(
    "/platforms/{platform_id}/taxonomy-tree",
    access=require_platform_role(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    alternative="Request fewer levels with `depth`, one branch with `rootId`, or list the nodes.",
)
def get_taxonomy_tree(_ctx: Context, platform: Platform, query: TreeQuery, tree: TaxonomyTree) -> TreeOut:
    """Get a consistent snapshot of a platform's taxonomy tree, optionally limited to some levels or one subtree.

    Use it to render a menu of categories. A change in another request is included completely or not at all. A tree that
    is too large for one response is rejected with advice.
    """
    return load_tree_output(tree, platform.id, query)


@routes.post(
    "/taxonomy-nodes",
    access=require_platform_role(Role.EDITOR, ContainerReference.BODY_ID),
    scope="taxonomy:write",
    emits="taxonomy.node.created",
)
def create_taxonomy_node(ctx: Context, platform: Platform, body: NodeCreate, tree: TreeWithPosition) -> NodeOut:
    """Create a node as a root or below another node.

    A node is a category, such as "Looms" below "Machines". The path of a node consists of the slugs from the root to
    it. A taxonomy has at most ten levels.
    """
    return NodeOut.of(create_node(ctx, platform, body, tree))


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=require_platform_role(Role.MEMBER, OfRecord(TaxonomyNode)),
    scope="taxonomy:read",
    emits=None,
)
def get_taxonomy_node(_ctx: Context, node: TaxonomyNode) -> NodeOut:
    """Get a node.

    The node has its path and its depth. The nodes below it are in the tree, or in the list of nodes with `parentId`.
    """
    return NodeOut.of(node)


@routes.patch(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=require_platform_role(Role.EDITOR, OfRecord(TaxonomyNode)),
    scope="taxonomy:write",
    emits="taxonomy.node.updated",
)
def update_taxonomy_node(ctx: Context, node: TaxonomyNode, body: NodePatch, tree: TreeWithPosition) -> NodeOut:
    """Change a node. Another `parentId` moves it with its subtree at once, and former paths continue to resolve.

    A move below a descendant of the node is a `cycle`. The slug and the parent of a system tag cannot be changed.
    """
    return NodeOut.of(update_node(ctx, node, body, tree))


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}",
    access=require_platform_role(Role.EDITOR, OfRecord(TaxonomyNode)),
    scope="taxonomy:write",
    emits="taxonomy.node.deleted",
)
def delete_taxonomy_node(ctx: Context, node: TaxonomyNode, query: DeleteQuery, tree: TaxonomyTree) -> None:
    """Delete a node without children and attachments, or with the given strategy for them.

    `cascade` hides the subtree at once and removes it soon after. `reparent` moves the children, at most 25, to the
    parent of the node, and their former paths continue to resolve. The attachments of the node are removed. System tags
    can't be deleted.
    """
    delete_node(ctx, node, query.strategy, tree)

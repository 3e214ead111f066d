"""Create, update, move and delete nodes, including their ancestors' counts, the slug index and former positions.

A write that relies on a path fails if the version of the tree has changed since it was read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.taxonomy.attachments.logic.attachment_queries import count_visible_attachments_up_to_limit
from chalicelib.features.taxonomy.entities.nodes import (
    ALL_NODES_LIST,
    ROOT_TERMS_LIST,
    SYSTEM_TAG,
    NodeRemovalJob,
    Taxonomy,
    TaxonomyNode,
)
from chalicelib.features.taxonomy.entities.slug_index import (
    former_position_key,
    former_position_redirect_write,
    slug_index_add_writes,
    slug_index_remove_write,
    taxonomy_tree,
)
from chalicelib.features.taxonomy.logic.node_queries import TaxonomyTree, load_node_or_none
from chalicelib.features.taxonomy.models import MAX_DEPTH, MAX_POSITION, DeleteStrategy, NodeCreate, NodePatch
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.trees.changes import (
    DepthLimit,
    RecordUpdates,
    reject_cycle,
    requested_position_keys,
)
from chalicelib.kernel.trees.reading import TreeReader, scan_tree_for_children
from chalicelib.kernel.work import jobs

MAX_REPARENTED_CHILDREN: Final = 25
"""Maximum number of children that `reparent` moves. Each child takes three writes of the transaction."""

_SYSTEM_TAG_IS_FIXED: Final = "The slug and the parent of a system tag are fixed."
_SYSTEM_TAG_IS_PERMANENT: Final = "A system tag can't be deleted."


def _explain_excess_depth(height: int) -> str:
    below = f", and it has {describe_count(height, 'level')} below" if height else ""
    return f"is too deep: a taxonomy has at most {MAX_DEPTH} levels{below}"


DEPTH_LIMIT: Final = DepthLimit(MAX_DEPTH, _explain_excess_depth)
"""The maximum depth of a node."""


class TreeWithPosition(TaxonomyTree):
    """The state of the tree, and what decides about the position of a new or changed node: its parent and its slug."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the state, of the parent and of the slug index item."""
        platform_id = values.parameters.get("platform_id")
        if not platform_id:
            return []
        tree = taxonomy_tree(platform_id)
        return [*super().derive_keys(values), *requested_position_keys(values, tree, "name", tree.node_key)]


def create_node(ctx: Context, platform: Platform, body: NodeCreate, prefetched: TreeWithPosition) -> TaxonomyNode:
    """Create a node. Raises Problem if its parent is unknown or the node would be too deep."""
    tree, parent = prefetched.state_or_none, _load_parent_or_none(prefetched, platform.id, body.parent_id)
    ancestors = parent.ancestors_and_self if parent else ()
    DEPTH_LIMIT.reject_excess(len(ancestors), 0)
    position = _choose_position(body.position, parent or tree)
    fields = body.to_stored_fields_with_defaults() | {
        "slug": ctx.given_or_derived_slug(body.slug, body.name),
        "position": position,
    }
    node = TaxonomyNode(
        **ctx.new_id_and_time_fields(),
        **fields,
        organization_id=platform.organization_id,
        listed=ALL_NODES_LIST,
        sibling_list=body.parent_id or ROOT_TERMS_LIST,
        ancestor_ids=[ancestor.id for ancestor in ancestors],
        tree_version=tree.version if tree else 1,
        ancestors=ancestors,
    )
    ctx.changes.event(ctx.changes.create(node))
    add_to_slug_index(ctx.changes, node, prefetched.items)
    updates = RecordUpdates[TaxonomyNode](ctx.changes)
    _raise_parent_count_and_heights(updates, ancestors, 1, 0, position)
    updates.add_to_unit_of_work()
    if tree is None:
        ctx.changes.create(
            Taxonomy(**ctx.new_id_and_time_fields(), **platform.ids_by_parameter, last_position=position)
        )
    else:
        ctx.changes.require_unchanged(tree)
        last_position = tree.last_position if ancestors else max(tree.last_position, position)
        ctx.changes.update_untracked(tree, last_position=last_position)
    return node


def update_node(ctx: Context, node: TaxonomyNode, body: NodePatch, prefetched: TreeWithPosition) -> TaxonomyNode:
    """Change a node. With another slug or parent, it moves with its subtree. Raises Problem if it can't move there."""
    tree, is_moved, is_renamed = prefetched.state, body.parent_id != node.parent_id, body.slug != node.slug
    if node.sort == SYSTEM_TAG and (is_moved or is_renamed):
        raise Problem("forbidden", _SYSTEM_TAG_IS_FIXED)
    parent = _load_parent_or_none(prefetched, node.platform_id, body.parent_id) if is_moved else _parent(node)
    fields = body.to_stored_fields_with_defaults() | {"position": _choose_position(body.position, parent or tree)}
    updates = RecordUpdates[TaxonomyNode](ctx.changes)
    if is_moved:
        ancestors = parent.ancestors_and_self if parent else ()
        fields |= {
            "ancestors": ancestors,
            "ancestor_ids": [each.id for each in ancestors],
            "sibling_list": body.parent_id or ROOT_TERMS_LIST,
        }
        fields["height"] = _check_move_and_return_height(node, ancestors, tree)
        _lower_parent_count(updates, node)
        _raise_parent_count_and_heights(updates, ancestors, 1, fields["height"], fields["position"])
    elif parent:
        updates.set_fields(parent, last_position=max(parent.last_position, fields["position"]))
    last_position = tree.last_position if parent else max(tree.last_position, fields["position"])
    ctx.changes.event(node)
    if is_moved or is_renamed:
        tree_version = tree.version + 1
        updated = ctx.changes.update(node, **fields, tree_version=tree_version)
        ctx.changes.update(tree, moved=tree.recent_moves_after(tree_version, [node.id]), last_position=last_position)
        ctx.changes.add_write(
            former_position_redirect_write(former_position_key(node.tree, node.parent_id, node.slug), node.id)
        )
    else:
        updated = ctx.changes.update(node, **fields)
        ctx.changes.update_untracked(tree, last_position=last_position)
    if is_renamed:
        ctx.changes.add_write(slug_index_remove_write(node.tree.slug_index_key(node.slug), node.id))
        add_to_slug_index(ctx.changes, updated, prefetched.items)
    updates.add_to_unit_of_work()
    return updated


def delete_node(ctx: Context, node: TaxonomyNode, strategy: DeleteStrategy | None, prefetched: TaxonomyTree) -> None:
    """Delete a node, and delete its subtree or reparent its children. Raises Problem if the node can't be deleted."""
    if node.sort == SYSTEM_TAG:
        raise Problem("forbidden", _SYSTEM_TAG_IS_PERMANENT)
    is_empty = not node.child_count and not node.attachment_count
    if not (strategy or is_empty):
        visible_attachments = count_visible_attachments_up_to_limit(ctx, node)
        if node.child_count or visible_attachments:
            raise _not_empty_problem(node, visible_attachments)
    updates = RecordUpdates[TaxonomyNode](ctx.changes)
    _lower_parent_count(updates, node)
    ctx.changes.event(node)
    if is_empty:
        delete_leaf(ctx.changes, node)
    else:
        _hide_node_and_start_removal(ctx, node, prefetched.state, strategy, updates)
    updates.add_to_unit_of_work()


def _hide_node_and_start_removal(
    ctx: Context,
    node: TaxonomyNode,
    tree: Taxonomy,
    strategy: DeleteStrategy | None,
    updates: RecordUpdates[TaxonomyNode],
) -> None:
    """Hide a node, reparent its children if that is the strategy, and start the removal of the remaining subtree."""
    tree_version = tree.version + 1
    is_reparenting = strategy == "reparent"
    counts: dict[str, Any] = {"child_count": 0} if is_reparenting else {}
    ctx.changes.update(node, listed=None, sibling_list=None, tree_version=tree_version, **counts)
    children = _reparent_children(ctx, node, updates, tree_version) if is_reparenting else []
    root_positions = [child.position for child in children if child.parent_id is None]
    ctx.changes.update(
        tree,
        moved=tree.recent_moves_after(tree_version, [node.id, *(child.id for child in children)]),
        last_position=max([tree.last_position, *root_positions]),
        pending_removals=tree.pending_removals + 1,
    )
    job = NodeRemovalJob(
        **ctx.new_id_and_time_fields(), **node.organization_and_platform_id_fields, node_id=node.id, lease_until=ctx.now
    )
    jobs.create_and_enqueue_after_commit(ctx.changes, job)


def delete_leaf(changes: UnitOfWork, node: TaxonomyNode) -> None:
    """Delete a node without children and attachments."""
    changes.delete(node)
    changes.add_write(slug_index_remove_write(node.tree.slug_index_key(node.slug), node.id))


def _reparent_children(
    ctx: Context, node: TaxonomyNode, updates: RecordUpdates[TaxonomyNode], tree_version: int
) -> list[TaxonomyNode]:
    """Move the children of a node to its parent, and return them."""
    if node.child_count > MAX_REPARENTED_CHILDREN:
        detail = f"It has {node.child_count} children, and {MAX_REPARENTED_CHILDREN} can move at once. Move some first."
        raise Problem.create_with_field_error("query/strategy", "limit_exceeded", detail)
    partition = TaxonomyNode.among_siblings.partition(platform_id=node.platform_id, sibling_list=node.id)
    items = table.query(partition, limit=MAX_REPARENTED_CHILDREN + 1).items
    if ctx.attempt or len(items) != node.child_count:  # The index is eventually consistent.
        items = scan_tree_for_children(node.tree, node.id)
    if len(items) != node.child_count:
        raise ConcurrentModification  # A child was added or removed concurrently.
    fields: dict[str, Any] = {
        "parent_id": node.parent_id,
        "sibling_list": node.parent_id or ROOT_TERMS_LIST,
        "tree_version": tree_version,
    }
    children = [ctx.changes.update(TaxonomyNode.from_item(item), **fields) for item in items]
    positions = [child.position for child in children]
    _raise_parent_count_and_heights(updates, node.ancestors, len(children), 0, *positions)
    key = former_position_key(node.tree, node.parent_id, node.slug)
    ctx.changes.add_write(former_position_redirect_write(key, node.parent_id, node.id))
    return children


def _lower_parent_count(updates: RecordUpdates[TaxonomyNode], node: TaxonomyNode) -> None:
    """Lower the child count of the parent of a node, if there is one."""
    if parent := _parent(node):
        updates.set_fields(parent, child_count=parent.child_count - 1)


def _raise_parent_count_and_heights(
    updates: RecordUpdates[TaxonomyNode],
    ancestors: Sequence[TaxonomyNode],
    count: int,
    subtree_height: int,
    *positions: int,
) -> None:
    """Raise the child count of the last of `ancestors`, and the heights of all below which a subtree is added.

    `subtree_height` is the number of levels below the root of the subtree.
    """
    for height, node in enumerate(reversed(ancestors), subtree_height + 1):
        if node.height < height:
            updates.set_fields(node, height=height)
    if ancestors:
        parent = updates.with_changes(ancestors[-1])
        last_position = max([parent.last_position, *positions])
        updates.set_fields(ancestors[-1], child_count=parent.child_count + count, last_position=last_position)


def _parent(node: TaxonomyNode) -> TaxonomyNode | None:
    return node.ancestors[-1] if node.ancestors else None


def _load_parent_or_none(prefetched: TaxonomyTree, platform_id: str, parent_id: str | None) -> TaxonomyNode | None:
    if parent_id is None:
        return None
    parent = load_node_or_none(TreeReader.from_items(taxonomy_tree(platform_id), dict(prefetched.items)), parent_id)
    if parent is None:
        raise ValidationProblem([FieldError("/parentId", "unknown", "No node of this platform has this id.")])
    return parent


def _choose_position(requested: int | None, container: TaxonomyNode | Taxonomy | None) -> int:
    """Return the requested position, or the next one below a parent or at the root level."""
    if requested is not None:
        return requested
    return min(container.last_position + 1 if container else 0, MAX_POSITION)


def _check_move_and_return_height(node: TaxonomyNode, ancestors: Sequence[TaxonomyNode], tree: Taxonomy) -> int:
    """Return a bound of the levels below a moved node. Raises Problem if it would be too deep or its own ancestor.

    The stored height is an upper bound. The whole tree is read only if the bound forbids the move.
    """
    if ancestors:
        location = f"{ancestors[-1].path} is {node.path} or below it"
        detail = f"{location}: a node can't be its own ancestor. Choose another parent."
        reject_cycle(node.id, [ancestor.id for ancestor in ancestors], detail)
    if DEPTH_LIMIT.allows(len(ancestors), node.height):
        return node.height
    height = DEPTH_LIMIT.read_height(node.tree, tree.version, node.id)
    DEPTH_LIMIT.reject_excess(len(ancestors), height)
    return height


def add_to_slug_index(changes: UnitOfWork, node: TaxonomyNode, prefetched: Mapping[ItemKey, Item]) -> None:
    """Add a node to the item of its slug in the slug index, which was read before."""
    key = node.tree.slug_index_key(node.slug)
    for write in slug_index_add_writes(key, prefetched.get(key), node.id):
        changes.add_write(write)


def _not_empty_problem(node: TaxonomyNode, attachment_count: int) -> Problem:
    children = describe_count(node.child_count, "child", "children")
    attached = describe_count(attachment_count, "attachment")
    detail = (
        f"It has {children} and {attached}. Send `strategy=cascade` to delete its subtree, or `strategy=reparent` "
        "to move its children to its parent. Its attachments are removed in both cases."
    )
    return Problem.create_with_field_error("query/strategy", "not_empty", detail)

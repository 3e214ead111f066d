"""Create, update, move and delete nodes, including their ancestors' counts, the slug index and former positions.

A write that relies on a path fails if the version of the tree has changed since it was read.
"""

from collections.abc import Sequence
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
    slug_index_key,
    slug_index_remove_write,
    taxonomy_tree_partition,
)
from chalicelib.features.taxonomy.logic.node_queries import (
    TaxonomyTree,
    load_consistent_node_snapshot,
)
from chalicelib.features.taxonomy.logic.tree_shape import (
    children_by_parent_with_ancestors,
    depth_problem,
    exceeds_max_depth,
    iter_nodes_and_raised_heights,
    reject_cycle,
    subtree_height,
)
from chalicelib.features.taxonomy.models import MAX_POSITION, DeleteStrategy, NodeCreate, NodePatch
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import derive_slug
from chalicelib.kernel.operations.inputs import KnownValues
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.trees import TreeReader, scan_tree_for_children
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

MAX_REPARENTED_CHILDREN: Final = 25
"""Maximum number of children that `reparent` moves. Each child takes three writes of the transaction."""

_SYSTEM_TAG_IS_FIXED: Final = "The slug and the parent of a system tag are fixed."
_SYSTEM_TAG_IS_PERMANENT: Final = "A system tag can't be deleted."


class TreeWithPosition(TaxonomyTree):
    """The state of the tree, and what decides about the position of a new or changed node: its parent and its slug."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the state, of the parent and of the slug index item."""
        keys, platform_id = super().derive_keys(values), values.parameters.get("platform_id")
        if not platform_id:
            return keys
        slug, name, parent_id = map(values.body_field_or_none, ("slug", "name", "parent_id"))
        if slug is None and name and values.operation.method == "POST":
            slug = derive_slug(name)
        if slug:
            keys.append(slug_index_key(platform_id, slug))
        if parent_id:
            keys.append(TaxonomyNode.make_item_key(platform_id=platform_id, id=parent_id))
        return keys


def create_node(ctx: Context, platform: Platform, body: NodeCreate, prefetched: TreeWithPosition) -> TaxonomyNode:
    """Create a node. Raises Problem if its parent is unknown or the node would be too deep."""
    tree, parent = prefetched.state_or_none, _load_parent_or_none(prefetched, platform.id, body.parent_id)
    ancestors = parent.ancestors_and_self if parent else ()
    if exceeds_max_depth(ancestors, 0):
        raise depth_problem(0)
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
    _add_to_slug_index(ctx, prefetched, node)
    updates = _AncestorUpdates(ctx.changes)
    updates.raise_parent_count_and_heights(ancestors, 1, 0, position)
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
    updates = _AncestorUpdates(ctx.changes)
    if is_moved:
        ancestors = parent.ancestors_and_self if parent else ()
        fields |= {
            "ancestors": ancestors,
            "ancestor_ids": [each.id for each in ancestors],
            "sibling_list": body.parent_id or ROOT_TERMS_LIST,
        }
        fields["height"] = _check_move_and_return_height(node, ancestors, tree)
        updates.lower_child_count(_parent(node), 1)
        updates.raise_parent_count_and_heights(ancestors, 1, fields["height"], fields["position"])
    elif parent:
        updates.set_fields(parent, last_position=max(parent.last_position, fields["position"]))
    last_position = tree.last_position if parent else max(tree.last_position, fields["position"])
    ctx.changes.event(node)
    if is_moved or is_renamed:
        updated = ctx.changes.update(node, **fields, tree_version=tree.version + 1)
        ctx.changes.update(tree, moved=tree.recent_move_versions_after_moving([node.id]), last_position=last_position)
        ctx.changes.add_write(
            former_position_redirect_write(former_position_key(node.platform_id, node.parent_id, node.slug), node.id)
        )
    else:
        updated = ctx.changes.update(node, **fields)
        ctx.changes.update_untracked(tree, last_position=last_position)
    if is_renamed:
        ctx.changes.add_write(slug_index_remove_write(slug_index_key(node.platform_id, node.slug), node.id))
        _add_to_slug_index(ctx, prefetched, updated)
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
    updates = _AncestorUpdates(ctx.changes)
    updates.lower_child_count(_parent(node), 1)
    ctx.changes.event(node)
    if is_empty:
        delete_leaf(ctx.changes, node)
    else:
        _hide_node_and_start_removal(ctx, node, prefetched.state, strategy, updates)
    updates.add_to_unit_of_work()


def _hide_node_and_start_removal(
    ctx: Context, node: TaxonomyNode, tree: Taxonomy, strategy: DeleteStrategy | None, updates: "_AncestorUpdates"
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
        moved=tree.recent_move_versions_after_moving([node.id, *(child.id for child in children)]),
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
    changes.add_write(slug_index_remove_write(slug_index_key(node.platform_id, node.slug), node.id))


def _reparent_children(
    ctx: Context, node: TaxonomyNode, updates: "_AncestorUpdates", tree_version: int
) -> list[TaxonomyNode]:
    """Move the children of a node to its parent, and return them."""
    if node.child_count > MAX_REPARENTED_CHILDREN:
        detail = f"It has {node.child_count} children, and {MAX_REPARENTED_CHILDREN} can move at once. Move some first."
        raise Problem.create_with_field_error("query/strategy", "limit_exceeded", detail)
    partition = TaxonomyNode.among_siblings.partition(platform_id=node.platform_id, sibling_list=node.id)
    items = table.query(partition, limit=MAX_REPARENTED_CHILDREN + 1).items
    if ctx.attempt or len(items) != node.child_count:  # The index is eventually consistent.
        items = scan_tree_for_children(taxonomy_tree_partition(node.platform_id), node.id)
    if len(items) != node.child_count:
        raise ConcurrentModification  # A child was added or removed concurrently.
    fields: dict[str, Any] = {
        "parent_id": node.parent_id,
        "sibling_list": node.parent_id or ROOT_TERMS_LIST,
        "tree_version": tree_version,
    }
    children = [ctx.changes.update(TaxonomyNode.from_item(item), **fields) for item in items]
    updates.raise_parent_count_and_heights(node.ancestors, len(children), 0, *(child.position for child in children))
    ctx.changes.add_write(
        former_position_redirect_write(
            former_position_key(node.platform_id, node.parent_id, node.slug), node.parent_id, node.id
        )
    )
    return children


class _AncestorUpdates:
    """Collects the changes of ancestors, so that each ancestor is written once."""

    def __init__(self, changes: UnitOfWork) -> None:
        self._changes = changes
        self._nodes: dict[str, tuple[TaxonomyNode, dict[str, Any]]] = {}

    def set_fields(self, node: TaxonomyNode, **fields: Any) -> None:
        """Set fields of a node."""
        self._nodes.setdefault(node.id, (node, {}))[1].update(fields)

    def lower_child_count(self, parent: TaxonomyNode | None, count: int) -> None:
        """Lower the child count of a parent, if there is one."""
        if parent:
            self.set_fields(parent, child_count=parent.child_count - count)

    def raise_parent_count_and_heights(
        self, ancestors: Sequence[TaxonomyNode], count: int, subtree_height: int, *positions: int
    ) -> None:
        """Raise the child count of the last ancestor, and the heights of all, in addition to earlier changes."""
        for node, height_below in iter_nodes_and_raised_heights(ancestors, subtree_height):
            self.set_fields(node, height=height_below)
        if ancestors:
            parent = ancestors[-1]
            child_count = self._nodes.get(parent.id, (parent, {}))[1].get("child_count", parent.child_count)
            last_position = max([parent.last_position, *positions])
            self.set_fields(parent, child_count=child_count + count, last_position=last_position)

    def add_to_unit_of_work(self) -> None:
        """Add the updates to the unit of work."""
        for node, fields in self._nodes.values():
            self._changes.update_untracked(node, **fields)


def _parent(node: TaxonomyNode) -> TaxonomyNode | None:
    return node.ancestors[-1] if node.ancestors else None


def _load_parent_or_none(prefetched: TaxonomyTree, platform_id: str, parent_id: str | None) -> TaxonomyNode | None:
    if parent_id is None:
        return None
    reader = TreeReader.from_items(taxonomy_tree_partition(platform_id), dict(prefetched.items))
    reader.load_consistent_ancestors([parent_id])
    parent = TaxonomyNode.from_loaded_reader(reader, parent_id)
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
    reject_cycle(node, ancestors)
    if not exceeds_max_depth(ancestors, node.height):
        return node.height
    exact_height = subtree_height(
        children_by_parent_with_ancestors(load_consistent_node_snapshot(node.platform_id, tree)), node.id
    )
    if exceeds_max_depth(ancestors, exact_height):
        raise depth_problem(exact_height)
    return exact_height


def _add_to_slug_index(ctx: Context, prefetched: TaxonomyTree, node: TaxonomyNode) -> None:
    key = slug_index_key(node.platform_id, node.slug)
    for write in slug_index_add_writes(key, prefetched.items.get(key), node.id):
        ctx.changes.add_write(write)


def _not_empty_problem(node: TaxonomyNode, attachment_count: int) -> Problem:
    children = describe_count(node.child_count, "child", "children")
    attached = describe_count(attachment_count, "attachment")
    detail = (
        f"It has {children} and {attached}. Send `strategy=cascade` to delete its subtree, or `strategy=reparent` "
        "to move its children to its parent. Its attachments are removed in both cases."
    )
    return Problem.create_with_field_error("query/strategy", "not_empty", detail)

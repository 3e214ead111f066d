"""Where nodes come to be, move and go: what becomes of them, of those above, and of what leads to them.

Whatever relies on a path holds on condition that the tree has the version it was read with.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.features.attachments.finding import seen_at
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.taxonomy.entities import LISTED, ROOTS, SYSTEM, Felling, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.finding import all_nodes, state_of, tree_beside
from chalicelib.features.taxonomy.models import MOST_POSITION, NodeCreate, NodePatch, Strategy
from chalicelib.features.taxonomy.rules import height, heights, is_too_deep, refuse_cycle, siblings, too_deep
from chalicelib.features.taxonomy.trails import former_key, join, leads, leave, trail_key, tree_of
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import SLUG_PATTERN, UUID_PATTERN, slug_from
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.trees import TreeReader
from chalicelib.kernel.storage.trees import children as children_in
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

MOST_REPARENTED: Final = 25
"""Children that move to the parent of their own at once: each is three writes of the transaction."""

_FIXED: Final = "The slug and the parent of a system tag are fixed."
_KEPT: Final = "A system tag can't be deleted."


def surroundings(request: Request) -> list[ItemKey]:
    """Return what decides where the node of a request may be: the tree, its parent, the trail of its slug."""
    keys, platform_id, said = tree_beside(request), request.parameters.get("platform_id"), request.unvalidated_body
    if not platform_id:
        return keys
    parent, slug, name = (said.get(field) for field in ("parentId", "slug", "name"))
    if slug is None and isinstance(name, str) and request.method == "POST":
        slug = slug_from(name)
    if isinstance(slug, str) and re.fullmatch(SLUG_PATTERN, slug.strip()):
        keys.append(trail_key(platform_id, slug.strip()))
    if isinstance(parent, str) and re.fullmatch(UUID_PATTERN, ascii_lower(parent.strip())):
        keys.append(TaxonomyNode.make_item_key(platform_id=platform_id, id=ascii_lower(parent.strip())))
    return keys


def plant(ctx: Context, platform: Platform, body: NodeCreate) -> TaxonomyNode:
    """Create a node. Raises Problem if it can't be where it is to be."""
    tree, parent = state_of(ctx, platform.id), _parent(ctx, platform.id, body.parent_id)
    line = parent.line if parent else ()
    if is_too_deep(line, 0):
        raise too_deep(0)
    position = _position(body.position, parent or tree)
    fields = body.fields() | {"slug": ctx.choose_slug(body.slug, body.name), "position": position}
    node = TaxonomyNode(
        **ctx.new_record_fields(),
        **fields,
        organization_id=platform.organization_id,
        listed=LISTED,
        shelf=body.parent_id or ROOTS,
        lineage=[above.id for above in line],
        placed=tree.version if tree else 1,
        ancestors=line,
    )
    ctx.changes.create(node)
    _join(ctx, node.slug, node)
    above = _Above(ctx.changes)
    above.gains(line, 1, 0, position)
    above.write()
    if tree is None:
        ctx.changes.create(Taxonomy(**ctx.new_record_fields(), **platform.ancestor_ids, last_position=position))
    else:
        ctx.changes.require_unchanged(tree)
        ctx.changes.update_untracked(
            tree, last_position=tree.last_position if line else max(tree.last_position, position)
        )
    return node


def change(ctx: Context, node: TaxonomyNode, body: NodePatch) -> TaxonomyNode:
    """Change a node; with another slug or parent it moves, and all below it. Raises Problem if it can't be there."""
    tree, moves, renamed = _tree(ctx, node), body.parent_id != node.parent_id, body.slug != node.slug
    if node.sort == SYSTEM and (moves or renamed):
        raise Problem("forbidden", _FIXED)
    parent = _parent(ctx, node.platform_id, body.parent_id) if moves else _above(node)
    fields = body.fields() | {"position": _position(body.position, parent or tree)}
    above = _Above(ctx.changes)
    if moves:
        line = parent.line if parent else ()
        fields |= {"ancestors": line, "lineage": [one.id for one in line], "shelf": body.parent_id or ROOTS}
        fields["height"] = _levels_below(node, line, tree)
        above.loses(_above(node), 1)
        above.gains(line, 1, fields["height"], fields["position"])
    elif parent:
        above.let(parent, last_position=max(parent.last_position, fields["position"]))
    last = tree.last_position if parent else max(tree.last_position, fields["position"])
    if not (moves or renamed):
        changed = ctx.changes.update(node, **fields)
        ctx.changes.update_untracked(tree, last_position=last)
    else:
        changed = ctx.changes.update(node, **fields, placed=tree.version + 1)
        ctx.changes.update(tree, moved=tree.with_moved([node.id]), last_position=last)
        ctx.changes.add_write(leads(former_key(node.platform_id, node.parent_id, node.slug), node.id))
    if renamed:
        ctx.changes.add_write(leave(trail_key(node.platform_id, node.slug), node.id))
        _join(ctx, changed.slug, changed)
    above.write()
    return changed


def fell(ctx: Context, node: TaxonomyNode, strategy: Strategy | None) -> None:
    """Delete a node, and let what is below it go or move up. Raises Problem if it can't go."""
    if node.sort == SYSTEM:
        raise Problem("forbidden", _KEPT)
    empty = not node.child_count and not node.attachment_count
    if not (strategy or empty):
        attached = seen_at(ctx, node)
        if node.child_count or attached:
            raise _not_empty(node, attached)
    above = _Above(ctx.changes)
    above.loses(_above(node), 1)
    if empty:
        uproot(ctx.changes, node)
    else:
        tree = _tree(ctx, node)
        placed = tree.version + 1
        husk = {"child_count": 0} if strategy == "reparent" else {}
        ctx.changes.update(node, listed=None, shelf=None, placed=placed, **husk)
        moved = _move_up(ctx, node, above, placed) if strategy == "reparent" else []
        last = max([tree.last_position, *(child.position for child in moved if child.parent_id is None)])
        ctx.changes.update(
            tree,
            moved=tree.with_moved([node.id, *(child.id for child in moved)]),
            last_position=last,
            felled=tree.felled + 1,
        )
        felling = Felling(**ctx.new_record_fields(), **node.ids, node_id=node.id, turn_at=ctx.now)
        ctx.changes.enqueue_after_commit(Felling.task, ctx.changes.create(felling))
    above.write()


def uproot(changes: UnitOfWork, node: TaxonomyNode) -> None:
    """Remove a node below which nothing is."""
    changes.delete(node)
    changes.add_write(leave(trail_key(node.platform_id, node.slug), node.id))


def _move_up(ctx: Context, node: TaxonomyNode, above: "_Above", placed: int) -> list[TaxonomyNode]:
    """Let the children of a node be those of its parent."""
    if node.child_count > MOST_REPARENTED:
        detail = (
            f"It has {node.child_count} children; at most {MOST_REPARENTED} move at once. Move or delete some first."
        )
        raise Problem.for_field("query/strategy", "limit_exceeded", detail)
    below = TaxonomyNode.among_siblings.partition(platform_id=node.platform_id, shelf=node.id)
    found = table.query(below, limit=MOST_REPARENTED + 1).items
    if ctx.attempt or len(found) != node.child_count:  # The index is behind.
        found = children_in(tree_of(node.platform_id), node.id)
    if len(found) != node.child_count:
        raise ConcurrentModification  # Another came or went just now.
    up = {"parent_id": node.parent_id, "shelf": node.parent_id or ROOTS, "placed": placed}
    children = [ctx.changes.update(TaxonomyNode.from_item(item), **up) for item in found]
    above.gains(node.ancestors, len(children), 0, *(child.position for child in children))
    ctx.changes.add_write(leads(former_key(node.platform_id, node.parent_id, node.slug), node.parent_id, node.id))
    return children


class _Above:
    """What becomes of the nodes above; each is written once."""

    def __init__(self, changes: UnitOfWork) -> None:
        self._changes = changes
        self._nodes: dict[str, tuple[TaxonomyNode, dict[str, Any]]] = {}

    def let(self, node: TaxonomyNode, **fields: Any) -> None:
        """Let some fields of a node be others."""
        self._nodes.setdefault(node.id, (node, {}))[1].update(fields)

    def loses(self, parent: TaxonomyNode | None, number: int) -> None:
        """Let a parent have fewer children."""
        if parent:
            self.let(parent, child_count=parent.child_count - number)

    def gains(self, line: Sequence[TaxonomyNode], number: int, below: int, *positions: int) -> None:
        """Let the last of a line have more children, of so many levels; who has lost some before gains the rest."""
        for node, high in heights(line, below):
            self.let(node, height=high)
        if line:
            parent = line[-1]
            had = self._nodes.get(parent.id, (parent, {}))[1].get("child_count", parent.child_count)
            self.let(parent, child_count=had + number, last_position=max([parent.last_position, *positions]))

    def write(self) -> None:
        """Say so to the unit of work."""
        for node, fields in self._nodes.values():
            self._changes.update_untracked(node, **fields)


def _tree(ctx: Context, node: TaxonomyNode) -> Taxonomy:
    return Taxonomy.from_item(ctx.access.prefetched[Taxonomy.make_item_key(platform_id=node.platform_id)])


def _above(node: TaxonomyNode) -> TaxonomyNode | None:
    return node.ancestors[-1] if node.ancestors else None


def _parent(ctx: Context, platform_id: str, parent_id: str | None) -> TaxonomyNode | None:
    if parent_id is None:
        return None
    reading = TreeReader.of(tree_of(platform_id), dict(ctx.access.prefetched))
    reading.load_ancestors([parent_id])
    parent = TaxonomyNode.of(reading, parent_id)
    if parent is None:
        raise ValidationProblem([FieldError("/parentId", "unknown", "No node of this platform has this id.")])
    return parent


def _position(given: int | None, above: TaxonomyNode | Taxonomy | None) -> int:
    return min(above.last_position + 1 if above else 0, MOST_POSITION) if given is None else given


def _levels_below(node: TaxonomyNode, line: Sequence[TaxonomyNode], tree: Taxonomy) -> int:
    """Return how many levels below a node move with it. Raises Problem if that is too deep, or a node its own ancestor.

    What the node says of its height may be too much, once what was below it is gone: before it is in the way, the tree
    is read.
    """
    refuse_cycle(node, line)
    if not is_too_deep(line, node.height):
        return node.height
    below = height(siblings(all_nodes(node.platform_id, tree)), node.id)
    if is_too_deep(line, below):
        raise too_deep(below)
    return below


def _join(ctx: Context, slug: str, node: TaxonomyNode) -> None:
    key = trail_key(node.platform_id, slug)
    for write in join(key, ctx.access.prefetched.get(key), node.id):
        ctx.changes.add_write(write)


def _not_empty(node: TaxonomyNode, attachments: int) -> Problem:
    children = f"{node.child_count} {'child' if node.child_count == 1 else 'children'}"
    attached = f"{attachments} {'attachment' if attachments == 1 else 'attachments'}"
    detail = (
        f"It has {children} and {attached}. Send `strategy=cascade` to delete all of it, or `strategy=reparent` to let "
        "its children move to its parent; what is attached to it goes with it."
    )
    return Problem.for_field("query/strategy", "not_empty", detail)

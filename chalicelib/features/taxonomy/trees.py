"""A taxonomy as a tree: the whole of it, or the part that was asked for, and only that is read.

A part is read level by level: a Query for each node that has something below it, those of a level at the same time.
They are of an index, so a part is late by moments, as lists are; where what is found contradicts the counts of the
nodes above, or the state of the tree, all of the tree is read instead. So it is where a part has very many branches.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chalicelib.features.taxonomy.entities import ROOTS, SYSTEM, TaxonomyNode
from chalicelib.features.taxonomy.finding import all_nodes, begun, state_of
from chalicelib.features.taxonomy.models import MOST_DEPTH, BranchOut, TreeOut, TreeQuery
from chalicelib.features.taxonomy.rules import Siblings, siblings
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.trees import TreeReader

MAX_QUERIES: Final = 64
"""Of the index for one part of a tree; what takes more is made of the whole tree."""


class _NotOfOneState(Exception):
    """A part can't be read by the index: it is late, nodes were moved meanwhile, or there are too many branches."""


def tree(ctx: Context, platform_id: str, query: TreeQuery) -> TreeOut:
    """Return a platform's tree, or a part of it. Raises Problem if its root isn't there."""
    levels = query.depth or MOST_DEPTH
    if query.root_id or query.depth:
        try:
            roots, below = _part(ctx, platform_id, query.root_id, levels)
            return TreeOut(items=_branches(below, roots, levels))
        except _NotOfOneState:
            pass
    whole = siblings(all_nodes(platform_id, state_of(ctx, platform_id)))
    top: Sequence[TaxonomyNode] = whole.get(None, ())
    if query.root_id:
        top = [node for nodes in whole.values() for node in nodes if node.id == query.root_id]
        if not top:
            raise not_found()
    return TreeOut(items=_branches(whole, top, levels))


def _part(ctx: Context, platform_id: str, root_id: str | None, levels: int) -> tuple[Sequence[TaxonomyNode], Siblings]:
    """Return some levels of a tree: the nodes on the highest one, and what is below each. Raises _NotOfOneState."""
    reading = begun(ctx, platform_id)
    version = reading.state.get("version", 0)
    roots = [_root(reading, root_id)] if root_id else _on_shelves(reading, platform_id, {ROOTS: (), SYSTEM: ()})
    level, below, queries = roots, dict[str | None, list[TaxonomyNode]](), 0
    for _ in range(levels - 1):
        parents = {node.id: node.line for node in level if node.child_count}
        queries += len(parents)
        if queries > MAX_QUERIES:
            raise _NotOfOneState
        children = _on_shelves(reading, platform_id, parents)
        for child in children:
            below.setdefault(child.parent_id, []).append(child)
        if any(len(below.get(node.id, ())) != node.child_count for node in level):
            raise _NotOfOneState
        level = children
    reading.read([])
    if reading.unsettled_keys() or not reading.covers_version(version):
        raise _NotOfOneState
    return roots, below


def _root(reading: TreeReader, node_id: str) -> TaxonomyNode:
    reading.load_ancestors([node_id])
    root = TaxonomyNode.of(reading, node_id)
    if root is None:
        raise not_found()
    return root


def _on_shelves(
    reading: TreeReader, platform_id: str, shelves: Mapping[str, tuple[TaxonomyNode, ...]]
) -> list[TaxonomyNode]:
    """Return the nodes on some shelves in their order, by a Query of each. `shelves`: the nodes above, by the shelf."""

    def ask(shelf: str) -> list[Item]:
        partition = TaxonomyNode.among_siblings.partition(platform_id=platform_id, shelf=shelf)
        return [item for page in table.iter_pages(partition) for item in page]

    nodes: list[TaxonomyNode] = []
    for shelf, items in zip(shelves, table.gather(ask, [*shelves]), strict=True):
        reading.add_items(items)
        nodes += [TaxonomyNode.from_item(item).replace(ancestors=shelves[shelf]) for item in items]
    return sorted(nodes, key=lambda node: (node.position, node.id))


def _branches(below: Siblings, nodes: Sequence[TaxonomyNode], levels: int) -> list[BranchOut]:
    return [
        BranchOut.of(node, children=_branches(below, below.get(node.id, ()), levels - 1) if levels > 1 else [])
        for node in nodes
    ]

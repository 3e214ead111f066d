"""Return a taxonomy as a tree: all of it, or a requested part, for which only that part is read.

A part is read level by level, with one parallel Query for each node that has children. The Queries read an index, which
is eventually consistent. If the result contradicts the child counts of the parents or the state of the tree, or a part
has too many branches, the whole tree is read instead.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from chalicelib.features.taxonomy.entities.nodes import ROOT_TERMS_LIST, SYSTEM_TAG, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.features.taxonomy.logic.node_queries import TaxonomyTree, load_node_or_none
from chalicelib.features.taxonomy.models import MAX_DEPTH, BranchOut, TreeOut, TreeQuery
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.trees.reading import TreeReader, read_consistent_tree

ChildrenByParent = Mapping[str | None, Sequence[TaxonomyNode]]
"""The children of each node by its id, in their order. The roots have the key None."""

MAX_BRANCH_QUERIES: Final = 64
"""Maximum number of index Queries for a part of a tree. Larger parts are taken from the whole tree."""


class _InconsistentPart(Exception):
    """A part of a tree can't be read from the index: the index lags, nodes have moved, or the part is too large."""


def load_tree_output(tree: TaxonomyTree, platform_id: str, query: TreeQuery) -> TreeOut:
    """Return the tree of a platform's taxonomy or a part of it. Raises Problem `not_found` if its root is missing."""
    levels = query.depth or MAX_DEPTH
    if query.root_id or query.depth:
        try:
            roots, children = _load_tree_part_or_raise_if_inconsistent(tree, platform_id, query.root_id, levels)
            return TreeOut(items=_branch_outputs(children, roots, levels))
        except _InconsistentPart:
            pass
    all_children = load_consistent_children_by_parent(platform_id, tree.state_or_none)
    top_nodes: Sequence[TaxonomyNode] = all_children.get(None, ())
    if query.root_id:
        top_nodes = [node for nodes in all_children.values() for node in nodes if node.id == query.root_id]
        if not top_nodes:
            raise not_found()
    return TreeOut(items=_branch_outputs(all_children, top_nodes, levels))


def _load_tree_part_or_raise_if_inconsistent(
    tree: TaxonomyTree, platform_id: str, root_id: str | None, levels: int
) -> tuple[Sequence[TaxonomyNode], ChildrenByParent]:
    """Return the top nodes of a part of a tree, and the children of all its nodes. Raises _InconsistentPart."""
    reader = tree.create_reader(platform_id)
    version = reader.state.get("version", 0)
    roots = (
        [_load_root(reader, root_id)]
        if root_id
        else _load_nodes_of_sibling_lists(reader, platform_id, {ROOT_TERMS_LIST: (), SYSTEM_TAG: ()})
    )
    level, children, query_count = roots, dict[str | None, list[TaxonomyNode]](), 0
    for _ in range(levels - 1):
        parents = {node.id: node.ancestors_and_self for node in level if node.child_count}
        query_count += len(parents)
        if query_count > MAX_BRANCH_QUERIES:
            raise _InconsistentPart
        next_level = _load_nodes_of_sibling_lists(reader, platform_id, parents)
        for child in next_level:
            children.setdefault(child.parent_id, []).append(child)
        if any(len(children.get(node.id, ())) != node.child_count for node in level):
            raise _InconsistentPart
        level = next_level
    reader.load_with_state([])
    if reader.node_keys_to_read_again() or not reader.has_all_moves_since(version):
        raise _InconsistentPart
    return roots, children


def _load_root(reader: TreeReader, node_id: str) -> TaxonomyNode:
    root = load_node_or_none(reader, node_id)
    if root is None:
        raise not_found()
    return root


def _load_nodes_of_sibling_lists(
    reader: TreeReader, platform_id: str, ancestors_by_list: Mapping[str, tuple[TaxonomyNode, ...]]
) -> list[TaxonomyNode]:
    """Return the nodes of some sibling lists in order, with one Query per list.

    `ancestors_by_list` maps the name of each list to the ancestors of its nodes.
    """

    def query(sibling_list: str) -> list[Item]:
        partition = TaxonomyNode.among_siblings.partition(platform_id=platform_id, sibling_list=sibling_list)
        return [item for page in table.iter_item_pages(partition) for item in page]

    nodes: list[TaxonomyNode] = []
    results = table.gather(query, [*ancestors_by_list])
    for ancestors, items in zip(ancestors_by_list.values(), results, strict=True):
        reader.add_items(items)
        nodes += [TaxonomyNode.from_item(item).replace(ancestors=ancestors) for item in items]
    return sorted(nodes, key=lambda node: (node.position, node.id))


def load_consistent_children_by_parent(platform_id: str, state_before_read: Taxonomy | None) -> ChildrenByParent:
    """Return a consistent snapshot of the nodes of a platform with their ancestors: one Query per megabyte.

    `state_before_read` is the state of the tree before this read. Nodes that moved since then are read again. Nodes
    that are not below a root are omitted.
    """
    reader = read_consistent_tree(taxonomy_tree(platform_id), state_before_read.version if state_before_read else 0)
    items = reader.children_by_parent_id()
    ordered: dict[str | None, list[TaxonomyNode]] = {}
    pending: list[tuple[str | None, tuple[TaxonomyNode, ...]]] = [(None, ())]
    while pending:
        parent_id, ancestors = pending.pop()
        children = [TaxonomyNode.from_item(item).replace(ancestors=ancestors) for item in items.get(parent_id, ())]
        ordered[parent_id] = sorted(children, key=lambda node: (node.position, node.id))
        pending += [(node.id, node.ancestors_and_self) for node in ordered[parent_id] if node.id in items]
    return ordered


def _branch_outputs(children: ChildrenByParent, nodes: Sequence[TaxonomyNode], levels: int) -> list[BranchOut]:
    return [
        BranchOut.of(
            node, children=_branch_outputs(children, children.get(node.id, ()), levels - 1) if levels > 1 else []
        )
        for node in nodes
    ]

"""Return a taxonomy as a tree: all of it, or a requested part, for which only that part is read.

A part is read level by level, with one parallel Query for each node that has children. The Queries read an index, which
is eventually consistent. If the result contradicts the child counts of the parents or the state of the tree, or a part
has too many branches, the whole tree is read instead.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chalicelib.features.taxonomy.entities.nodes import ROOT_TERMS_LIST, SYSTEM_TAG, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.features.taxonomy.logic.node_queries import TaxonomyTree, load_node_or_none
from chalicelib.features.taxonomy.models import MAX_DEPTH, BranchOut, TreeOut, TreeQuery
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.trees.reading import TreeReader, read_consistent_tree

MAX_BRANCH_QUERIES: Final = 64
"""Maximum number of index Queries for a part of a tree. Larger parts are taken from the whole tree."""


def load_tree_output(tree: TaxonomyTree, platform_id: str, query: TreeQuery) -> TreeOut:
    """Return the tree of a platform's taxonomy or a part of it. Raises Problem `not_found` if its root is missing."""
    levels, root_id = query.depth or MAX_DEPTH, query.root_id
    reader = _read_tree_part_or_none(tree, platform_id, root_id, levels) if root_id or query.depth else None
    if reader is None:
        state = tree.state_or_none
        reader = read_consistent_tree(taxonomy_tree(platform_id), state.version if state else 0)
    children = reader.children_by_parent_id()
    if root_id is None:
        return TreeOut(items=_branch_outputs(children, _ordered_nodes(children.get(None, ()), ()), levels))
    root = TaxonomyNode.from_loaded_reader(reader, root_id)
    if root is None:
        raise not_found()
    return TreeOut(items=_branch_outputs(children, [root], levels))


def _read_tree_part_or_none(
    tree: TaxonomyTree, platform_id: str, root_id: str | None, levels: int
) -> TreeReader | None:
    """Return a reader of a part of a tree and of the ancestors of its root.

    Return None if the index lags, if nodes have moved meanwhile, or if the part is too large. Raises Problem
    `not_found` if the root is missing.
    """
    reader = tree.create_reader(platform_id)
    version = reader.state.get("version", 0)
    if root_id is None:
        level = _load_nodes_of_sibling_lists(reader, platform_id, [ROOT_TERMS_LIST, SYSTEM_TAG])
    elif root := load_node_or_none(reader, root_id):
        level = [root]
    else:
        raise not_found()
    query_count = 0
    for _ in range(levels - 1):
        parent_ids = [node.id for node in level if node.child_count]
        query_count += len(parent_ids)
        if query_count > MAX_BRANCH_QUERIES:
            return None
        children = _load_nodes_of_sibling_lists(reader, platform_id, parent_ids)
        child_counts = Counter(child.parent_id for child in children)
        if any(child_counts[node.id] != node.child_count for node in level):
            return None
        level = children
    reader.load_with_state([])
    return None if reader.node_keys_to_read_again() or not reader.has_all_moves_since(version) else reader


def _load_nodes_of_sibling_lists(
    reader: TreeReader, platform_id: str, sibling_lists: Sequence[str]
) -> list[TaxonomyNode]:
    """Return the nodes of some sibling lists in order, with one Query per list, and add them to the reader."""

    def query(sibling_list: str) -> list[Item]:
        partition = TaxonomyNode.among_siblings.partition(platform_id=platform_id, sibling_list=sibling_list)
        return [item for page in table.iter_item_pages(partition) for item in page]

    items = [item for result in table.gather(query, sibling_lists) for item in result]
    reader.add_items(items)
    return _ordered_nodes(items, ())


def _ordered_nodes(items: Iterable[Item], ancestors: tuple[TaxonomyNode, ...]) -> list[TaxonomyNode]:
    nodes = [TaxonomyNode.from_item(item).replace(ancestors=ancestors) for item in items]
    return sorted(nodes, key=lambda node: (node.position, node.id))


def _branch_outputs(
    children: Mapping[str | None, Sequence[Item]], nodes: Iterable[TaxonomyNode], levels: int
) -> list[BranchOut]:
    """Return the branches of some nodes, which have their ancestors, with a number of levels."""
    if not levels:
        return []
    nodes_below = ((node, _ordered_nodes(children.get(node.id, ()), node.ancestors_and_self)) for node in nodes)
    return [BranchOut.of(node, children=_branch_outputs(children, below, levels - 1)) for node, below in nodes_below]

"""List nodes, and load nodes, the whole tree, and the state of the tree."""

from collections.abc import Iterable

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, SYSTEM_TAG, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import NAME_KEY_PREFIX, taxonomy_tree_partition
from chalicelib.features.taxonomy.models import NodeOut, NodesQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_names_starting_with
from chalicelib.kernel.storage.trees import TreeReader, read_consistent_tree_into_reader


class TaxonomyTree(Prefetched):
    """The state of the tree of the platform."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the state, if the platform is known."""
        platform_id = values.parameters.get("platform_id")
        return [Taxonomy.make_item_key(platform_id=platform_id)] if platform_id else []

    @property
    def state_or_none(self) -> Taxonomy | None:
        """The state of the tree, or None if the platform has no taxonomy yet."""
        item = next((self.items[key] for key in self.keys[:1] if key in self.items), None)
        return Taxonomy.from_item(item) if item else None

    @property
    def state(self) -> Taxonomy:
        """The state of a tree that has nodes."""
        return Taxonomy.from_item(self.items[self.keys[0]])

    def create_reader(self, platform_id: str) -> TreeReader:
        """Return a new reader of the tree that contains its state."""
        reader = TreeReader(taxonomy_tree_partition(platform_id))
        reader.requested_keys.add(reader.tree.state_key)
        if item := self.items.get(reader.tree.state_key):
            reader.items[reader.tree.state_key] = item
        return reader


def list_nodes(ctx: Context, platform_id: str, query: NodesQuery, tree: TaxonomyTree) -> ListPage[NodeOut]:
    """Return a page of a platform's nodes by position, or by name if the query has a name prefix.

    One Query reads the index of the first filter given: name, parent, system tags. Nodes that fail the other filters
    are omitted from the page. A second read loads the ancestors.
    """
    reader, after = tree.create_reader(platform_id), ctx.decode_cursor(query)
    if query.q:
        key_prefix = key_prefix_of_names_starting_with(NAME_KEY_PREFIX, fold_case_accents_and_spaces(query.q))
        result = table.query(reader.tree.partition, prefix=key_prefix, after=after, limit=query.limit)
        node_ids = load_indexed_nodes_and_return_ids(reader, result.items)
    else:
        sibling_list = query.parent_id or (SYSTEM_TAG if query.kind == SYSTEM_TAG else None)
        collection = TaxonomyNode.among_siblings if sibling_list else TaxonomyNode.in_platform
        partition = collection.partition(platform_id=platform_id, sibling_list=sibling_list, listed=ALL_NODES_LIST)
        result = table.query(partition, after=after, limit=query.limit)
        reader.add_items(result.items)
        node_ids = [item["id"] for item in result.items]
    outputs = [NodeOut.of(node) for node in load_existing_nodes(reader, node_ids) if _matches_filters(node, query)]
    return ctx.build_page(outputs, result.last_evaluated_key, query)


def load_indexed_nodes_and_return_ids(reader: TreeReader, index_rows: list[Item]) -> list[str]:
    """Load the nodes to which some index rows refer, and their ancestors. Return the ids of the nodes."""
    node_ids = [row["node_id"] for row in index_rows]
    if index_rows:
        reader.load_with_state(
            reader.tree.node_key(node_id) for row in index_rows for node_id in (row["node_id"], *row["lineage"])
        )
    return node_ids


def load_existing_nodes(reader: TreeReader, node_ids: list[str]) -> Iterable[TaxonomyNode]:
    """Return those of some nodes that exist, with their ancestors, in the order of `node_ids`."""
    reader.load_consistent_ancestors(node_ids)
    nodes = (TaxonomyNode.from_loaded_reader(reader, node_id) for node_id in node_ids)
    return [node for node in nodes if node]


def _matches_filters(node: TaxonomyNode, query: NodesQuery) -> bool:
    has_prefix = query.q is None or fold_case_accents_and_spaces(node.name).startswith(
        fold_case_accents_and_spaces(query.q)
    )
    return has_prefix and query.kind in (None, node.sort) and query.parent_id in (None, node.parent_id)


def load_consistent_node_snapshot(platform_id: str, state_before_read: Taxonomy | None) -> list[TaxonomyNode]:
    """Return a consistent snapshot of all nodes of a platform, without ancestors: one Query per megabyte.

    `state_before_read` is the state of the tree before this read. Nodes that moved since then are read again.
    """
    reader = read_consistent_tree_into_reader(
        taxonomy_tree_partition(platform_id), state_before_read.version if state_before_read else 0
    )
    return [TaxonomyNode.from_item(item) for key, item in reader.items.items() if key != reader.tree.state_key]

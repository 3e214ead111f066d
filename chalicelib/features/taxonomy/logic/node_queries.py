"""List nodes, and load nodes, the whole tree, and the state of the tree."""

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, SYSTEM_TAG, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import NAME_KEY_PREFIX, taxonomy_tree
from chalicelib.features.taxonomy.models import NodeOut, NodesQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_names_starting_with
from chalicelib.kernel.trees.reading import TreeReader


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
        tree = taxonomy_tree(platform_id)
        return TreeReader(tree, {key: self.items[key] for key in {tree.state_key} & {*self.items}}, {tree.state_key})


def list_nodes(ctx: Context, platform_id: str, query: NodesQuery, tree: TaxonomyTree) -> ListPage[NodeOut]:
    """Return a page of a platform's nodes by position, or by name if the query has a name prefix.

    One Query reads the index of the first filter given: name, parent, system tags. Nodes that fail the other filters
    are omitted from the page. A second read loads the ancestors.
    """
    reader, after = tree.create_reader(platform_id), ctx.decode_cursor(query)
    if query.q:
        key_prefix = key_prefix_of_names_starting_with(NAME_KEY_PREFIX, fold_case_accents_and_spaces(query.q))
        result = table.query(reader.tree.partition, prefix=key_prefix, after=after, limit=query.limit)
        nodes = load_indexed_nodes(reader, result.items)
    else:
        sibling_list = query.parent_id or (SYSTEM_TAG if query.kind == SYSTEM_TAG else None)
        collection = TaxonomyNode.among_siblings if sibling_list else TaxonomyNode.in_platform
        partition = collection.partition(platform_id=platform_id, sibling_list=sibling_list, listed=ALL_NODES_LIST)
        result = table.query(partition, after=after, limit=query.limit)
        reader.add_items(result.items)
        nodes = load_existing_nodes(reader, [item["id"] for item in result.items])
    outputs = [NodeOut.of(node) for node in nodes if _matches_filters(node, query)]
    return ctx.build_page(outputs, result.last_evaluated_key, query)


def load_indexed_nodes(reader: TreeReader, index_rows: list[Item]) -> list[TaxonomyNode]:
    """Return the existing nodes to which some index rows refer, with their ancestors."""
    if index_rows:
        reader.load_with_state(
            reader.tree.node_key(node_id) for row in index_rows for node_id in (row["node_id"], *row["lineage"])
        )
    return load_existing_nodes(reader, [row["node_id"] for row in index_rows])


def load_existing_nodes(reader: TreeReader, node_ids: list[str]) -> list[TaxonomyNode]:
    """Return those of some nodes that exist, with their ancestors, in the order of `node_ids`."""
    reader.load_consistent_ancestors(node_ids)
    nodes = (TaxonomyNode.from_loaded_reader(reader, node_id) for node_id in node_ids)
    return [node for node in nodes if node]


def load_node_or_none(reader: TreeReader, node_id: str) -> TaxonomyNode | None:
    """Return a node with its ancestors, or None if it does not exist."""
    return next(iter(load_existing_nodes(reader, [node_id])), None)


def _matches_filters(node: TaxonomyNode, query: NodesQuery) -> bool:
    has_prefix = query.q is None or fold_case_accents_and_spaces(node.name).startswith(
        fold_case_accents_and_spaces(query.q)
    )
    return has_prefix and query.kind in (None, node.sort) and query.parent_id in (None, node.parent_id)

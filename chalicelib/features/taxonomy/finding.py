"""Nodes as they are read: one, a page of them, all of them."""

from collections.abc import Iterable

from chalicelib.features.taxonomy.entities import LISTED, SYSTEM, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.models import NodeOut, NodesQuery
from chalicelib.features.taxonomy.trails import NAMES, tree_of
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import fold_text
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import prefix_key
from chalicelib.kernel.storage.trees import TreeReader, read_tree


def list_nodes(ctx: Context, platform_id: str, query: NodesQuery) -> ListPage[NodeOut]:
    """Return a page of a platform's nodes by position or, of those whose name begins so, by name: one Query.

    That is of the index of the first filter there is of: name, parent, system tags. What does not pass the others is
    left out of its page. The ancestors of what was found are read after it.
    """
    reading, after = begun(ctx, platform_id), ctx.decode_cursor(query)
    if query.q:
        begins = prefix_key(NAMES, fold_text(query.q))
        found = table.query(reading.tree.partition, prefix=begins, after=after, limit=query.limit)
        ids = meet(reading, found.items)
    else:
        shelf = query.parent_id or (SYSTEM if query.kind == SYSTEM else None)
        listed = TaxonomyNode.among_siblings if shelf else TaxonomyNode.in_platform
        partition = listed.partition(platform_id=platform_id, shelf=shelf, listed=LISTED)
        found = table.query(partition, after=after, limit=query.limit)
        reading.add_items(found.items)
        ids = [item["id"] for item in found.items]
    shown = [NodeOut.of(node) for node in known(reading, ids) if _passes(node, query)]
    return ctx.build_page(shown, found.last_evaluated_key, query)


def meet(reading: TreeReader, rows: list[Item]) -> list[str]:
    """Read the nodes that some rows lead to, and their ancestors; return the ids of the nodes."""
    ids = [row["node_id"] for row in rows]
    if rows:
        reading.read(reading.tree.key(node_id) for row in rows for node_id in (row["node_id"], *row["lineage"]))
    return ids


def known(reading: TreeReader, ids: list[str]) -> Iterable[TaxonomyNode]:
    """Return those of some nodes that are there, with their ancestors, in the same order."""
    reading.load_ancestors(ids)
    found = (TaxonomyNode.of(reading, node_id) for node_id in ids)
    return [node for node in found if node]


def _passes(node: TaxonomyNode, query: NodesQuery) -> bool:
    name = query.q is None or fold_text(node.name).startswith(fold_text(query.q))
    return name and query.kind in (None, node.sort) and query.parent_id in (None, node.parent_id)


def all_nodes(platform_id: str, before: Taxonomy | None) -> list[TaxonomyNode]:
    """Return all nodes of a platform as they were at one moment, without their ancestors: a Query for each megabyte.

    Those that were placed anew since the tree was read `before` are read once more.
    """
    reading = read_tree(tree_of(platform_id), before.version if before else 0)
    return [TaxonomyNode.from_item(item) for key, item in reading.items.items() if key != reading.tree.state_key]


def tree_beside(request: Request) -> list[ItemKey]:
    """Return where the tree stands of the platform that a request is about."""
    platform_id = request.parameters.get("platform_id")
    return [Taxonomy.make_item_key(platform_id=platform_id)] if platform_id else []


def begun(ctx: Context, platform_id: str) -> TreeReader:
    """Return a reading that begins with the tree as it was read with what decided access."""
    reading = TreeReader(tree_of(platform_id))
    reading.asked.add(reading.tree.state_key)
    if item := ctx.access.prefetched.get(reading.tree.state_key):
        reading.items[reading.tree.state_key] = item
    return reading


def state_of(ctx: Context, platform_id: str) -> Taxonomy | None:
    """Return the tree as it was read with what decided access; None if there is none yet."""
    item = ctx.access.prefetched.get(Taxonomy.make_item_key(platform_id=platform_id))
    return Taxonomy.from_item(item) if item else None

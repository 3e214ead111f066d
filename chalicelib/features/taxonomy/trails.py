"""Items that find nodes: the slug index, the key prefixes of names and labels, and former positions.

The items of the slug index and of former positions have no version and are written beside the nodes.
"""

from typing import Final

from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import Write
from chalicelib.kernel.storage.trees import Tree

PARTITION: Final = "P#{platform_id}#T"

MOST_NAMESAKES: Final = 10
"""Maximum number of node ids in an item of the slug index. An item that overflows stays so, and is not used."""

NAMES: Final = "Q#"
WORDS: Final = "W#"
SLUG: Final = "0"
LABEL: Final = "1"

_ROOT: Final = "-"


def tree_of(platform_id: str) -> Tree:
    """Return the tree of a platform's taxonomy."""
    return Tree(PARTITION.format(platform_id=platform_id))


def trail_key(platform_id: str, slug: str) -> ItemKey:
    """Return the key of the item of the slug index that lists the nodes with a slug."""
    return PARTITION.format(platform_id=platform_id), f"S#{slug}"


def nodes_on(trail: Item | None) -> frozenset[str] | None:
    """Return the ids of the nodes in an item of the slug index, or None if the item has overflowed."""
    node_ids: frozenset[str] = (trail or {}).get("nodes", frozenset())
    return None if trail and trail.get("wide") else node_ids


def join(key: ItemKey, trail: Item | None, node_id: str) -> list[Write]:
    """Return the writes that add a node to an item of the slug index, as it was read. Empty if it has overflowed."""
    node_ids = nodes_on(trail)
    if node_ids is None:
        return []
    if len(node_ids) >= MOST_NAMESAKES:
        return [Write("Update", key, update="SET #wide = :wide", names=["wide"], values={"wide": True})]
    return [Write("Update", key, update="ADD #nodes :node", names=["nodes"], values={"node": frozenset({node_id})})]


def leave(key: ItemKey, node_id: str) -> Write:
    """Return the write that removes a node from an item of the slug index."""
    return Write("Update", key, update="DELETE #nodes :node", names=["nodes"], values={"node": frozenset({node_id})})


def former_key(platform_id: str, above: str | None, slug: str) -> ItemKey:
    """Return the key of a former position: the last node that had a slug below a parent, or as a root."""
    return PARTITION.format(platform_id=platform_id), f"F#{above or _ROOT}#{slug}"


def leads(key: ItemKey, node_id: str | None, instead_of: str | None = None) -> Write:
    """Return the write that redirects a former position to a node, or to the root level if `node_id` is None.

    `replaced_id` is the id of a deleted node at that position, whose former children are still found.
    """
    targets = {"node_id": node_id or _ROOT, **({"instead_of": instead_of} if instead_of else {})}
    return Write("Put", key, item={"pk": key[0], "sk": key[1], **targets})


def led_to(former: Item | None) -> list[str | None]:
    """Return the ids of the nodes to which a former position redirects. None stands for the root level."""
    node_ids = [former["node_id"], former.get("instead_of")] if former else []
    return [None if node_id == _ROOT else node_id for node_id in node_ids if node_id]

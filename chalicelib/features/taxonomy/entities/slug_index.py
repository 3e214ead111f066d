"""Items that find nodes: the slug index, the key prefixes of names and labels, and former positions.

The items of the slug index and of former positions have no version, and are written together with the nodes.
"""

from typing import Final

from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.trees.paths import OVERFLOW_ATTRIBUTE
from chalicelib.kernel.trees.tree import Tree

TAXONOMY_PARTITION: Final = "P#{platform_id}#T"
SLUG_NAMESPACE: Final = "taxonomy-slug#{platform_id}"

MAX_NODES_PER_SLUG: Final = 10
"""Maximum number of node ids in an item of the slug index. An item that has overflowed is not used any more."""

NAME_KEY_PREFIX: Final = "Q#"
WORD_KEY_PREFIX: Final = "W#"
SLUG_KEY_SUFFIX: Final = "0"
LABEL_KEY_SUFFIX: Final = "1"

_ROOT: Final = "-"


def taxonomy_tree(platform_id: str) -> Tree:
    """Return the tree of a platform's taxonomy."""
    return Tree(*(template.format(platform_id=platform_id) for template in (TAXONOMY_PARTITION, SLUG_NAMESPACE)))


def indexed_node_ids_unless_overflowed(index_item: Item | None) -> frozenset[str] | None:
    """Return the ids of the nodes in an item of the slug index, or None if the item has overflowed."""
    node_ids: frozenset[str] = (index_item or {}).get("nodes", frozenset())
    return None if index_item and index_item.get(OVERFLOW_ATTRIBUTE) else node_ids


def slug_index_add_writes(key: ItemKey, index_item: Item | None, node_id: str) -> list[Write]:
    """Return the writes that add a node to an item of the slug index. `index_item` is the item as it was read."""
    node_ids = indexed_node_ids_unless_overflowed(index_item)
    if node_ids is None:
        return []
    if len(node_ids) >= MAX_NODES_PER_SLUG:
        return [ItemUpdate(key, set={OVERFLOW_ATTRIBUTE: True}).to_write()]
    return [ItemUpdate(key, add={"nodes": frozenset({node_id})}).to_write()]


def slug_index_remove_write(key: ItemKey, node_id: str) -> Write:
    """Return the write that removes a node from an item of the slug index."""
    return ItemUpdate(key, discard={"nodes": frozenset({node_id})}).to_write()


def former_position_key(tree: Tree, parent_id: str | None, slug: str) -> ItemKey:
    """Return the key of a former position: the last node that had a slug below a parent, or as a root."""
    return tree.partition, f"F#{parent_id or _ROOT}#{slug}"


def former_position_redirect_write(
    key: ItemKey, target_node_id: str | None, deleted_node_id: str | None = None
) -> Write:
    """Return the write that redirects a former position to a node, or to the root level if `target_node_id` is None.

    `deleted_node_id` is the id of a deleted node at that position, whose former children are still found.
    """
    targets = {"node_id": target_node_id or _ROOT, **({"instead_of": deleted_node_id} if deleted_node_id else {})}
    return Write("Put", key, item={"pk": key[0], "sk": key[1], **targets})


def former_position_target_ids(item: Item | None) -> list[str | None]:
    """Return the ids of the nodes to which a former position redirects. None stands for the root level."""
    node_ids = [item["node_id"], item.get("instead_of")] if item else []
    return [None if node_id == _ROOT else node_id for node_id in node_ids if node_id]

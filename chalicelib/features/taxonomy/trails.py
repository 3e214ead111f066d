"""Trails: what leads to nodes by slug, by word, or by where they were. Items beside the nodes, without a version."""

from typing import Final

from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import Write
from chalicelib.kernel.storage.trees import Tree

PARTITION: Final = "P#{platform_id}#T"

MOST_NAMESAKES: Final = 10
"""Nodes that a trail names. With more it is wide, for good: then it is not relied on."""

NAMES: Final = "Q#"
WORDS: Final = "W#"
SLUG: Final = "0"
LABEL: Final = "1"

_ROOT: Final = "-"


def tree_of(platform_id: str) -> Tree:
    """Return the tree that the nodes of a platform's taxonomy make."""
    return Tree(PARTITION.format(platform_id=platform_id))


def trail_key(platform_id: str, slug: str) -> ItemKey:
    """Return where the trail of a slug stands: which nodes have it."""
    return PARTITION.format(platform_id=platform_id), f"S#{slug}"


def nodes_on(trail: Item | None) -> frozenset[str] | None:
    """Return the ids of all nodes that have the slug of a trail; None if those are too many to be named."""
    found: frozenset[str] = (trail or {}).get("nodes", frozenset())
    return None if trail and trail.get("wide") else found


def join(key: ItemKey, trail: Item | None, node_id: str) -> list[Write]:
    """Return the write that puts a node on a trail, as that was read; none if it is wide."""
    known = nodes_on(trail)
    if known is None:
        return []
    if len(known) >= MOST_NAMESAKES:
        return [Write("Update", key, update="SET #wide = :wide", names=["wide"], values={"wide": True})]
    return [Write("Update", key, update="ADD #nodes :node", names=["nodes"], values={"node": frozenset({node_id})})]


def leave(key: ItemKey, node_id: str) -> Write:
    """Return the write that takes a node off a trail, if it is on it."""
    return Write("Update", key, update="DELETE #nodes :node", names=["nodes"], values={"node": frozenset({node_id})})


def former_key(platform_id: str, above: str | None, slug: str) -> ItemKey:
    """Return where it stands who had a slug below a node, or as a root, and has it there no more: the last of them."""
    return PARTITION.format(platform_id=platform_id), f"F#{above or _ROOT}#{slug}"


def leads(key: ItemKey, node_id: str | None, instead_of: str | None = None) -> Write:
    """Return the write that lets a former place in the tree lead to a node, or to the root of all, and what is below.

    `instead_of`: the node that was there and is no more; what others had below it leads on too.
    """
    there = {"node_id": node_id or _ROOT, **({"instead_of": instead_of} if instead_of else {})}
    return Write("Put", key, item={"pk": key[0], "sk": key[1], **there})


def led_to(former: Item | None) -> list[str | None]:
    """Return where a former place leads to; None is the root of all."""
    found = [former["node_id"], former.get("instead_of")] if former else []
    return [None if node_id == _ROOT else node_id for node_id in found if node_id]

"""Reading the nodes of a tree with their ancestors, in one consistent state of the tree.

The `lineage` of a node is only a hint, which lets one read fetch all ancestors. If an ancestor has moved since, the
parents are followed instead.

Items in one read may be from different times. So the state of the tree lists the recently moved nodes (`moved`: node id
→ version of the tree after the move), and a node contains the version of its own last move (`placed`). If the state
agrees with all nodes from the root to a node, this path existed at that version of the tree. So callers see only paths
that existed, unless more nodes than `moved` can list move between two reads of one request.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads
from chalicelib.kernel.storage.item_reads import perform_reads
from chalicelib.kernel.trees.tree import (
    MAX_REMEMBERED_MOVES,
    NODE_SORT_KEY,
    STATE_SORT_KEY,
    Tree,
    has_consistent_last_move,
)

CONCURRENT_MOVES: Final = "Other requests keep moving nodes of this tree."
_MAX_TRIES: Final = 5
_MAX_WHOLE_TREE_TRIES: Final = 3


@dataclass
class TreeReader:
    """Reads nodes and the state of a tree. `requested_keys`: all keys that were read, with or without an item."""

    tree: Tree
    items: dict[ItemKey, Item] = field(default_factory=dict)
    requested_keys: set[ItemKey] = field(default_factory=set)

    @classmethod
    def from_items(cls, tree: Tree, items: dict[ItemKey, Item]) -> "TreeReader":
        """Return a reader of items that were read before. Further items are added to them."""
        return cls(tree, items, {*items})

    @property
    def state(self) -> Item:
        """Return the state of the tree, empty if there is no tree yet."""
        return self.items.get(self.tree.state_key, {})

    def undeleted_read_node_or_none(self, node_id: str) -> Item | None:
        """Return a node that was read and is not deleted, or None."""
        item = self.items.get(self.tree.node_key(node_id))
        return item if item and item.get("listed") else None

    def load_with_state(self, keys: Iterable[ItemKey]) -> None:
        """Read the state of the tree and the items at some keys, even those that were read before."""
        perform_reads(self.reads_with_state(keys), {})

    def reads_with_state(self, keys: Iterable[ItemKey]) -> ItemReads[None]:
        """Request what `load_with_state` reads."""
        wanted_keys = {self.tree.state_key, *keys}
        items = yield sorted(wanted_keys)  # Sorted, so that equal reads make equal requests.
        for key in wanted_keys - items.keys():
            self.items.pop(key, None)
        self.items.update(items)
        self.requested_keys |= wanted_keys

    def load_unread(self, keys: Iterable[ItemKey]) -> None:
        """Read the items at those of some keys that were not read before, and the state of the tree with them."""
        if unread_keys := {*keys} - self.requested_keys:
            self.load_with_state(unread_keys)

    def add_items(self, items: Iterable[Item]) -> None:
        """Add items that the caller has read without `load`."""
        for item in items:
            key = item["pk"], item["sk"]
            self.items[key] = item
            self.requested_keys.add(key)

    def load_consistent_ancestors(self, node_ids: Sequence[str]) -> None:
        """Read the missing ancestors of nodes until everything is from one state of the tree."""
        perform_reads(self.consistent_ancestor_reads(node_ids), {})

    def consistent_ancestor_reads(self, node_ids: Sequence[str]) -> ItemReads[None]:
        """Request what `load_consistent_ancestors` reads."""
        is_retry = False
        for _ in range(_MAX_TRIES):
            while missing_keys := {key for node_id in node_ids for key in self._unread_chain_and_state_keys(node_id)}:
                yield from self.reads_with_state(missing_keys)
            if all(
                self._are_read_ancestors_of_one_state(node_id, accepts_missing_parent=is_retry) for node_id in node_ids
            ):
                return
            is_retry = True
            yield from self.reads_with_state(
                [
                    key
                    for key in self.requested_keys
                    if key[0] == self.tree.partition and key[1].startswith(NODE_SORT_KEY[:2])
                ]
            )
        raise unavailable(CONCURRENT_MOVES)

    def nodes_from_root_or_none(self, node_id: str) -> list[Item] | None:
        """Return the nodes from the root to a node, or None if the node or an ancestor is gone."""
        chain = [*self._iter_read_nodes_upwards(node_id)]
        return chain[::-1] if chain and not chain[-1].get("parent_id") else None

    def children_by_parent_id(self) -> Mapping[str | None, Sequence[Item]]:
        """Return the nodes that were read and are not deleted, grouped by parent. The roots have the key None."""
        children: defaultdict[str | None, list[Item]] = defaultdict(list)
        for item in self.items.values():
            if item.get("listed"):
                children[item.get("parent_id")].append(item)
        return children

    def node_keys_to_read_again(self) -> list[ItemKey]:
        """Return the keys of nodes that disagree with the state of the tree."""
        nodes = ((key, item) for key, item in self.items.items() if "placed" in item)
        return [key for key, node in nodes if not has_consistent_last_move(node, self.state)]

    def has_all_moves_since(self, version: int) -> bool:
        """Return whether the state still lists all moves since a version of the tree."""
        moved = self.state.get("moved", {})
        return len(moved) < MAX_REMEMBERED_MOVES or min(moved.values()) <= version

    def _iter_read_nodes_upwards(self, node_id: str | None) -> Iterator[Item]:
        """Yield a node and its ancestors that were read. Items from different times can form a cycle."""
        seen: set[str] = set()
        while node_id and node_id not in seen and (item := self.undeleted_read_node_or_none(node_id)):
            yield item
            seen.add(node_id)
            node_id = item.get("parent_id")

    def _unread_chain_and_state_keys(self, node_id: str) -> set[ItemKey]:
        parent_id: str | None = node_id
        hints: Sequence[str] = ()
        levels = 0
        for item in self._iter_read_nodes_upwards(node_id):
            parent_id, hints, levels = item.get("parent_id"), item["lineage"], levels + 1
        keys = {self.tree.state_key} if levels > 1 else set[ItemKey]()
        if parent_id is not None and self.tree.node_key(parent_id) not in self.requested_keys:
            keys |= {self.tree.node_key(parent_id), *map(self.tree.node_key, hints)}
        return keys - self.requested_keys

    def _are_read_ancestors_of_one_state(self, node_id: str, *, accepts_missing_parent: bool) -> bool:
        """Return whether a node and its ancestors are from one state of the tree."""
        chain = [*self._iter_read_nodes_upwards(node_id)]
        if self.tree.state_key not in self.requested_keys:
            return True  # It is a root, which has no ancestors that could have moved.
        if not all(has_consistent_last_move(node, self.state) for node in chain):
            return False
        parent_id = chain[-1].get("parent_id") if chain else node_id
        parent = self.items.get(self.tree.node_key(parent_id)) if parent_id else None
        # A deleted node is marked. A missing node is read again once, because it may have been removed concurrently
        # while its children moved elsewhere.
        return parent_id is None or (has_consistent_last_move(parent, self.state) if parent else accepts_missing_parent)


def scan_tree_for_children(tree: Tree, node_id: str) -> list[Item]:
    """Return the children of a node from the table: a query for each megabyte of the tree.

    An index would be faster, but lags.
    """
    nodes = (item for page in table.iter_item_pages(tree.partition, prefix=STATE_SORT_KEY[0]) for item in page)
    return [node for node in nodes if node.get("listed") and node.get("parent_id") == node_id]


def read_consistent_tree(tree: Tree, min_version: int) -> TreeReader:
    """Return all nodes of a tree in one state at or after a version: a query for each megabyte.

    Nodes that move meanwhile are read once more. Raises Problem `unavailable` if that does not succeed.
    """
    for _ in range(_MAX_WHOLE_TREE_TRIES):
        reader = TreeReader(tree)
        for page in table.iter_item_pages(tree.partition, prefix=STATE_SORT_KEY[0]):
            reader.add_items(page)
        if unsettled := reader.node_keys_to_read_again():
            reader.load_with_state(unsettled)
        if reader.has_all_moves_since(min_version) and not reader.node_keys_to_read_again():
            return reader
        min_version = reader.state.get("version", 0)
    raise unavailable(CONCURRENT_MOVES)

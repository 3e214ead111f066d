"""Trees: from a node up to its root, read by hints, verified by pointers, and of one state of the tree.

A node points to its parent. It also keeps its `lineage`: the ids of all its ancestors as of when it was moved last.
That is a hint only, by which they are read at once; where an ancestor was moved since, the pointers lead on.

What is read in one call is not of one moment. So the tree says which nodes were placed anew last (`moved`: node id to
the tree's version then), and a node says of itself the version that it was `placed` with. Where the tree and all nodes
of a chain agree, the chain is as it was at that version of the tree: nothing that was never true is shown. That fails
only if more nodes than `moved` holds were placed anew between two parts of one answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

NODE: Final = "N#{id}"
STATE: Final = "N~"
"""Behind all nodes: who reads a partition to its end reads the state of the tree last."""

MAX_REMEMBERED_MOVES: Final = 64
KEEP_MOVING: Final = "Others keep moving what is in this tree."
_MAX_TRIES: Final = 5
_MAX_WHOLE_TREE_TRIES: Final = 3


@dataclass(frozen=True)
class Tree:
    """A tree whose nodes stand in one partition, by their ids, and with them what is known of it as a whole."""

    partition: str

    @property
    def state_key(self) -> ItemKey:
        """Where it stands which version the tree has, and which nodes were placed anew last."""
        return self.partition, STATE

    def key(self, node_id: str) -> ItemKey:
        """Return where a node stands."""
        return self.partition, NODE.format(id=node_id)


def add_move(moved: Mapping[str, int], version: int, nodes: Iterable[str]) -> dict[str, int]:
    """Return which nodes were placed anew last, once some of them are so with a version."""
    latest = sorted(moved.items(), key=lambda one: one[1], reverse=True)
    now = dict.fromkeys(nodes, version)
    kept = [one for one in latest if one[0] not in now][: MAX_REMEMBERED_MOVES - len(now)]
    return {**now, **dict(kept)}


def is_settled(node: Mapping[str, Any], node_id: str, state: Mapping[str, Any]) -> bool:
    """Return whether a node and the state of its tree agree on when it was placed anew last."""
    placed: int = node["placed"]
    return bool(placed == state.get("moved", {}).get(node_id, placed) and placed <= state.get("version", 0))


@dataclass
class TreeReader:
    """What was read of a tree's nodes and its state. `asked`: all keys that were looked at, be there something."""

    tree: Tree
    items: dict[ItemKey, Item] = field(default_factory=dict)
    asked: set[ItemKey] = field(default_factory=set)

    @classmethod
    def of(cls, tree: Tree, items: dict[ItemKey, Item]) -> "TreeReader":
        """Return what some items hold; what is read more is added to them."""
        return cls(tree, items, {*items})

    @property
    def state(self) -> Item:
        """What is known of the tree as a whole; nothing if there is no tree yet."""
        return self.items.get(self.tree.state_key, {})

    def node(self, node_id: str) -> Item | None:
        """Return a node that was read and is not felled."""
        item = self.items.get(self.tree.key(node_id))
        return item if item and item.get("listed") else None

    def read(self, keys: Iterable[ItemKey]) -> None:
        """Read what stands at some keys, again if it was read before; and the state of the tree with it."""
        wanted = {self.tree.state_key, *keys}
        found = table.get_all(sorted(wanted))  # In an order, so that the same is asked the same way.
        for key in wanted - found.keys():
            self.items.pop(key, None)
        self.items.update(found)
        self.asked |= wanted

    def add_items(self, items: Iterable[Item]) -> None:
        """Take over what was read otherwise."""
        for item in items:
            key = item["pk"], item["sk"]
            self.items[key] = item
            self.asked.add(key)

    def load_ancestors(self, nodes: Sequence[str]) -> None:
        """Read what is missing of the chains of some nodes, until it is of one state."""
        again = False
        for _ in range(_MAX_TRIES):
            while lacking := {key for node_id in nodes for key in self._lacking(node_id)}:
                self.read(lacking)
            if all(self._agree(node_id, again=again) for node_id in nodes):
                return
            again = True
            self.read(key for key in self.asked if key[0] == self.tree.partition and key[1].startswith(NODE[:2]))
        raise unavailable(KEEP_MOVING)

    def chain(self, node_id: str) -> list[Item] | None:
        """Return the nodes from the root to one, which is complete; None if it or an ancestor is gone."""
        chain = [*self._upwards(node_id)]
        return chain[::-1] if chain and not chain[-1].get("parent_id") else None

    def unsettled_keys(self) -> list[ItemKey]:
        """Return where nodes stand that were read before the tree says they were placed anew, or after."""
        return [key for key, item in self.items.items() if "placed" in item and not self._settled(item)]

    def covers_version(self, version: int) -> bool:
        """Return whether the tree still says all that was placed anew since a version of it."""
        moved = self.state.get("moved", {})
        return len(moved) < MAX_REMEMBERED_MOVES or min(moved.values()) <= version

    def _upwards(self, node_id: str | None) -> Iterator[Item]:
        """Yield a node and its ancestors as far as they were read; what was read between two moves may be a ring."""
        seen: set[str] = set()
        while node_id and node_id not in seen and (item := self.node(node_id)):
            yield item
            seen.add(node_id)
            node_id = item.get("parent_id")

    def _lacking(self, node_id: str) -> set[ItemKey]:
        above: str | None = node_id
        hints: Sequence[str] = ()
        levels = 0
        for item in self._upwards(node_id):
            above, hints, levels = item.get("parent_id"), item["lineage"], levels + 1
        wanted = {self.tree.state_key} if levels > 1 else set[ItemKey]()
        if above is not None and self.tree.key(above) not in self.asked:
            wanted |= {self.tree.key(above), *map(self.tree.key, hints)}
        return wanted - self.asked

    def _agree(self, node_id: str, *, again: bool) -> bool:
        """Return whether all that was read of a chain is of one state of the tree."""
        line = [*self._upwards(node_id)]
        if self.tree.state_key not in self.asked:
            return True  # It is a root: nothing above it can have changed.
        if not all(map(self._settled, line)):
            return False
        above = line[-1].get("parent_id") if line else node_id
        end = self.items.get(self.tree.key(above)) if above else None
        # A node that is felled says so. One that is gone is looked for again, once: it went just now, it may be, and
        # what was below it is elsewhere since.
        return above is None or (self._settled(end) if end else again)

    def _settled(self, item: Item) -> bool:
        return is_settled(item, item["id"], self.state)


def children(tree: Tree, node_id: str) -> list[Item]:
    """Return the nodes right below one, from the table itself: a Query for each megabyte of the tree.

    An index would find them sooner, but lags.
    """
    nodes = (item for page in table.iter_pages(tree.partition, prefix=STATE[0]) for item in page)
    return [node for node in nodes if node.get("listed") and node.get("parent_id") == node_id]


def read_tree(tree: Tree, version: int) -> TreeReader:
    """Return all nodes of a tree as they were at one moment, read since it had a version: a Query for each megabyte.

    Those that were placed anew meanwhile are read once more. Raises Problem `unavailable` if that does not end.
    """
    for _ in range(_MAX_WHOLE_TREE_TRIES):
        reading = TreeReader(tree)
        for page in table.iter_pages(tree.partition, prefix=STATE[0]):
            reading.add_items(page)
        if unsettled := reading.unsettled_keys():
            reading.read(unsettled)
        if reading.covers_version(version) and not reading.unsettled_keys():
            return reading
        version = reading.state.get("version", 0)
    raise unavailable(KEEP_MOVING)

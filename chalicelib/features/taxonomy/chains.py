"""Chains: from a node up to its root, read by hints, verified by pointers, and of one state of the tree.

A node points to its parent. It also keeps its `lineage`: the ids of all its ancestors as of when it was moved last.
That is a hint only, by which they are read at once; where an ancestor was moved since, the pointers lead on.

What is read in one call is not of one moment. So the tree says which nodes were placed anew last (`moved`: node id to
the tree's version then), and a node says of itself the version that it was `placed` with. Where the tree and all nodes
of a chain agree, the chain is as it was at that version of the tree: nothing that was never true is shown. That fails
only if more nodes than `moved` holds were placed anew between two parts of one answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel import table
from chalicelib.kernel.entity import Item, Key
from chalicelib.kernel.problems import unavailable

PARTITION: Final = "P#{platform_id}#T"
NODE: Final = "N#{id}"
TREE: Final = "N~"
"""Behind all nodes: who reads a partition to its end reads the tree last."""

MOST_REMEMBERED: Final = 64
_TRIES: Final = 5


@dataclass
class Reading:
    """What was read of a platform's nodes and its tree. `asked`: all keys that were looked at, be there something."""

    platform_id: str
    items: dict[Key, Item] = field(default_factory=dict)
    asked: set[Key] = field(default_factory=set)

    @classmethod
    def of(cls, platform_id: str, items: dict[Key, Item]) -> "Reading":
        """Return what some items hold; what is read more is added to them."""
        return cls(platform_id, items, {*items})

    @property
    def partition(self) -> str:
        """Where it all stands."""
        return PARTITION.format(platform_id=self.platform_id)

    @property
    def tree_key(self) -> Key:
        """Where the tree stands."""
        return self.partition, TREE

    @property
    def tree(self) -> Item:
        """The tree; nothing if there is none yet."""
        return self.items.get(self.tree_key, {})

    def key(self, node_id: str) -> Key:
        """Return where a node stands."""
        return self.partition, NODE.format(id=node_id)

    def node(self, node_id: str) -> Item | None:
        """Return a node that was read and is not felled."""
        item = self.items.get(self.key(node_id))
        return item if item and item.get("listed") else None

    def read(self, keys: Iterable[Key]) -> None:
        """Read what stands at some keys, again if it was read before; and the tree with it."""
        wanted = {self.tree_key, *keys}
        found = table.get_all(sorted(wanted))  # In an order, so that the same is asked the same way.
        for key in wanted - found.keys():
            self.items.pop(key, None)
        self.items.update(found)
        self.asked |= wanted

    def note(self, items: Iterable[Item]) -> None:
        """Take over what was read otherwise."""
        for item in items:
            key = item["pk"], item["sk"]
            self.items[key] = item
            self.asked.add(key)

    def complete(self, nodes: Sequence[str]) -> None:
        """Read what is missing of the chains of some nodes, until it is of one state."""
        again = False
        for _ in range(_TRIES):
            while lacking := {key for node_id in nodes for key in self._lacking(node_id)}:
                self.read(lacking)
            if all(self._agree(node_id, again=again) for node_id in nodes):
                return
            again = True
            self.read(key for key in self.asked if key[1].startswith(NODE[:2]))
        raise unavailable("Others keep moving the nodes of this taxonomy.")

    def chain(self, node_id: str) -> list[Item] | None:
        """Return the nodes from the root to one, which is complete; None if it or an ancestor is gone."""
        chain = [*self._upwards(node_id)]
        return chain[::-1] if chain and not chain[-1].get("parent_id") else None

    def unsettled(self) -> list[Key]:
        """Return where nodes stand that were read before the tree says they were placed anew, or after."""
        return [key for key, item in self.items.items() if "placed" in item and not self._settled(item)]

    def _upwards(self, node_id: str | None) -> Iterator[Item]:
        """Yield a node and its ancestors as far as they were read; what was read between two moves may be a ring."""
        seen: set[str] = set()
        while node_id and node_id not in seen and (item := self.node(node_id)):
            yield item
            seen.add(node_id)
            node_id = item.get("parent_id")

    def _lacking(self, node_id: str) -> set[Key]:
        above: str | None = node_id
        hints: Sequence[str] = ()
        levels = 0
        for item in self._upwards(node_id):
            above, hints, levels = item.get("parent_id"), item["lineage"], levels + 1
        wanted = {self.tree_key} if levels > 1 else set[Key]()
        if above is not None and self.key(above) not in self.asked:
            wanted |= {self.key(above), *map(self.key, hints)}
        return wanted - self.asked

    def _agree(self, node_id: str, *, again: bool) -> bool:
        """Return whether all that was read of a chain is of one state of the tree."""
        line = [*self._upwards(node_id)]
        if self.tree_key not in self.asked:
            return True  # It is a root: nothing above it can have changed.
        if not all(map(self._settled, line)):
            return False
        above = line[-1].get("parent_id") if line else node_id
        end = self.items.get(self.key(above)) if above else None
        # A node that is felled says so. One that is gone is looked for again, once: it went just now, it may be, and
        # what was below it is elsewhere since.
        return above is None or (self._settled(end) if end else again)

    def _settled(self, item: Item) -> bool:
        placed: int = item["placed"]
        moved: dict[str, Any] = self.tree.get("moved", {})
        return bool(placed == moved.get(item["id"], placed) and placed <= self.tree.get("version", 0))

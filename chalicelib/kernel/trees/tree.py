"""The items of a tree: its nodes, its state, and the items that find nodes by their slugs.

A node contains its slug, the id of its parent, and in `lineage` the ids of all its ancestors as of its last move. It is
the item of a record or, if a record has positions in several trees, an item written together with the record.

Every change of the path of an existing node raises the version of the tree, so all such changes are serialized. A write
that relies on a path is conditional on the version with which the path was read. So concurrent moves never form a
cycle, and a check of the depth or of the ancestors holds at the commit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key

NODE_SORT_KEY: Final = "N#{id}"
STATE_SORT_KEY: Final = "N~"
"""Sort key of the state. It sorts after all nodes, so reading a whole partition reads the state last."""

MAX_REMEMBERED_MOVES: Final = 64
"""Latest moves of nodes that a tree remembers."""

_UNIQUE_SLUG: Final = Unique("{namespace}#{parent_id}", "{slug}", error_code="slug_taken", field="slug")


@dataclass(frozen=True)
class Tree:
    """A tree whose nodes, state and slug index are in one partition.

    `slug_namespace`: the namespace of the unique slugs, which ends with the id of the parent.
    """

    partition: str
    slug_namespace: str

    @property
    def state_key(self) -> ItemKey:
        """Return the key of the item with the tree's version and recent moves."""
        return self.partition, STATE_SORT_KEY

    def node_key(self, node_id: str) -> ItemKey:
        """Return the item key of a node."""
        return self.partition, NODE_SORT_KEY.format(id=node_id)

    def node_item(
        self, node_id: str, parent_id: str | None, slug: str | None, ancestor_ids: Sequence[str], version: int | None
    ) -> Item:
        """Return the item of a node that is not deleted. `version`: that of the tree after the node's last move."""
        pk, sk = self.node_key(node_id)
        position = {"parent_id": parent_id, "slug": slug, "lineage": ancestor_ids, "placed": version}
        return {"pk": pk, "sk": sk, "id": node_id, **position, "listed": True}

    def slug_index_key(self, slug: str) -> ItemKey:
        """Return the key of the item of the slug index that lists the nodes with a slug."""
        return self.partition, f"S#{slug}"

    def slug_guard_key(self, parent_id: str | None, slug: str) -> ItemKey:
        """Return the key of the item that reserves a slug below a parent, or among the roots."""
        return guard_key(_UNIQUE_SLUG, {"namespace": self.slug_namespace, "parent_id": parent_id, "slug": slug})


class TreeState(Entity):
    """The state of a tree. `moved` maps the ids of recently moved nodes to the version of the tree after the move."""

    sk = STATE_SORT_KEY

    moved: dict[str, int] = field(default_factory=dict)

    def recent_moves_after(self, version: int, moved_node_ids: Iterable[str]) -> dict[str, int]:
        """Return the recent moves after some nodes have moved in a version of the tree."""
        by_version = sorted(self.moved.items(), key=lambda move: move[1], reverse=True)
        new_moves = dict.fromkeys(moved_node_ids, version)
        earlier_moves = [move for move in by_version if move[0] not in new_moves]
        return {**new_moves, **dict(earlier_moves[: MAX_REMEMBERED_MOVES - len(new_moves)])}


def has_consistent_last_move(node: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Return whether a node and the state of its tree agree on the node's last move."""
    placed: int = node["placed"]
    return bool(placed == state.get("moved", {}).get(node["id"], placed) and placed <= state.get("version", 0))

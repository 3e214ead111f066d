"""Resolution of paths, slug by slug, from a root to a node.

The slug index lists the nodes that have a slug, so few reads yield all nodes on a path. An index item with too many
nodes overflows and lists none. The guards of the unique slugs are followed then. A node that had a slug before has a
former position below its parent of that time, so a former path leads to the node and to its subtree, whatever has moved
since.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from chalicelib.kernel.http.fields import SLUG_PATTERN
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.reading import TreeReader

OVERFLOW_ATTRIBUTE: Final = "wide"
"""The attribute of an item of the slug index that has overflowed."""

Position = Mapping[str, Any]
"""The position of a node in its tree, with its `parent_id`."""

S = TypeVar("S")


def valid_slugs_or_none(segments: Sequence[str], max_depth: int) -> list[str] | None:
    """Return the segments of a path, or None if no node can have the path."""
    is_valid = len(segments) <= max_depth and all(re.fullmatch(SLUG_PATTERN, segment) for segment in segments)
    return [*segments] if is_valid else None


class PathResolver(ABC, Generic[S]):
    """Resolves a path, given by its slugs, in a tree.

    A step `S` of a former path contains the id of the node to which its beginning leads, and what the rest depends on.
    """

    max_steps: ClassVar[int]
    """Maximum number of steps along former paths."""

    def __init__(self, reader: TreeReader, slugs: Sequence[str]) -> None:
        self.reader, self.slugs = reader, slugs

    @abstractmethod
    def _indexed_positions_or_none(self, slug: str) -> Mapping[str, Position] | None:
        """Return the positions of the nodes that have a slug by node id, or None if the index item overflows."""

    @abstractmethod
    def _read_item_or_none(self, key: ItemKey) -> Item | None:
        """Return an item, read if necessary."""

    @abstractmethod
    def _iter_next_steps(self, step: S, level: int) -> Iterator[S]:
        """Yield the steps to the nodes that have or had the slug of a level below the node of a step."""

    def iter_current_path(self, parent_id: str | None) -> Iterator[tuple[str, Position]]:
        """Yield the nodes with the slugs of the path below a node or from a root on, as far as they exist."""
        for level in range(len(self.slugs)):
            child = next(self.iter_current_children(parent_id, level), None)
            if child is None:
                return
            parent_id, _ = child
            yield child

    def iter_current_children(self, parent_id: str | None, level: int) -> Iterator[tuple[str, Position]]:
        """Yield the node that has the slug of a level below a parent, or among the roots, with its position."""
        slug = self.slugs[level]
        positions = self._indexed_positions_or_none(slug)
        if positions is None:
            positions = self._position_by_guard(parent_id, slug)
        for node_id, position in positions.items():
            if (position.get("parent_id"), position.get("slug", slug)) == (parent_id, slug):
                yield node_id, position

    def iter_ends_of_former_path(self, step: S, level: int, visited: set[tuple[S, int]]) -> Iterator[S]:
        """Yield the last steps to which the rest of the path can lead from a step on, depth first."""
        if (step, level) in visited or len(visited) >= self.max_steps:
            return
        visited.add((step, level))
        if level == len(self.slugs):
            yield step
            return
        for next_step in self._iter_next_steps(step, level):
            yield from self.iter_ends_of_former_path(next_step, level + 1, visited)

    def _position_by_guard(self, parent_id: str | None, slug: str) -> Mapping[str, Position]:
        """Return the child of a node with a slug, by the item that reserves the slug. Takes up to two reads."""
        guard = self._read_item_or_none(self.reader.tree.slug_guard_key(parent_id, slug))
        node = self._read_item_or_none(self.reader.tree.node_key(guard["ref"])) if guard else None
        return {guard["ref"]: node} if guard and node and node.get("listed") else {}

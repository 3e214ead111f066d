"""A model of a taxonomy: its nodes, the redirects from former paths, and the expected response of each change."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

NodeChange = tuple[str, str, str | None]
"""A change: the action, the node, and the new parent, slug or strategy.

The name of a node is its first slug and a number.
"""

NOT_FOUND, NO_PARENT, SLUG_TAKEN = "404 not_found", "422 validation_failed", "409 slug_taken"
CYCLE, NOT_EMPTY = "409 cycle", "409 not_empty"
ROOT: Final = None


@dataclass
class TaxonomyModel:
    """A tree: parent and slug of each node, and the nodes that were last at each former position."""

    nodes: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    former_nodes: dict[tuple[str | None, str], list[str | None]] = field(default_factory=dict)

    def after_changes(self, *changes: NodeChange) -> tuple[list[str], "TaxonomyModel"]:
        """Return the expected responses to several changes in sequence, and the resulting tree."""
        tree = deepcopy(self)
        return [tree.apply(*change) for change in changes], tree

    def apply(self, action: str, node: str, argument: str | None) -> str:
        if action == "create":
            return self._create(node, argument)
        if node not in self.nodes:
            return NOT_FOUND
        return self._delete(node, argument) if action == "delete" else self._update_node(action, node, argument)

    def _update_node(self, action: str, node: str, argument: str | None) -> str:
        parent, slug = self.nodes[node]
        position = (argument, slug) if action == "move" else (parent, str(argument))
        if action == "move" and argument is not ROOT:
            if argument not in self.nodes:
                return NO_PARENT
            if node in self.ancestors(argument):
                return CYCLE
        if position != (parent, slug):
            if self._child_with_slug(*position):
                return SLUG_TAKEN
            self.former_nodes[parent, slug], self.nodes[node] = [node], position
        return "200"

    def _create(self, node: str, parent: str | None) -> str:
        if parent is not ROOT and parent not in self.nodes:
            return NO_PARENT
        if self._child_with_slug(parent, node[0]):
            return SLUG_TAKEN
        self.nodes[node] = parent, node[0]
        return "201"

    def _delete(self, node: str, strategy: str | None) -> str:
        parent, slug = self.nodes[node]
        children = [child for child, (child_parent, _) in self.nodes.items() if child_parent == node]
        if children and strategy is None:
            return NOT_EMPTY
        if children and strategy == "reparent":
            if any(self._child_with_slug(parent, self.nodes[child][1]) not in (None, node) for child in children):
                return SLUG_TAKEN
            self.nodes |= {child: (parent, self.nodes[child][1]) for child in children}
            self.former_nodes[parent, slug] = [parent, node]
        self.nodes = {other: position for other, position in self.nodes.items() if node not in self.ancestors(other)}
        return "204"

    def ancestors(self, node: str) -> list[str]:
        """Return the IDs of the ancestors and of the node itself, root first."""
        parent = self.nodes[node][0]
        return [*(self.ancestors(parent) if parent is not ROOT else []), node]

    @property
    def paths(self) -> dict[str, str]:
        return {node: "/".join(self.nodes[ancestor][1] for ancestor in self.ancestors(node)) for node in self.nodes}

    def find_by_path(self, path: str) -> str | None:
        return next(self._candidates(ROOT, path.split("/")), None)

    def _candidates(self, parent: str | None, slugs: Sequence[str]) -> Iterator[str]:
        if not slugs:
            yield from [parent] if parent in self.nodes and parent is not ROOT else []
            return
        if child := self._child_with_slug(parent, slugs[0]):
            yield from self._candidates(child, slugs[1:])
        for former_node in self.former_nodes.get((parent, slugs[0]), []):
            yield from self._candidates(former_node, slugs[1:])

    def _child_with_slug(self, parent: str | None, slug: str) -> str | None:
        return next((node for node, position in self.nodes.items() if position == (parent, slug)), None)

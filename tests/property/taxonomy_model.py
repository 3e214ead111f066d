"""A taxonomy as a model: which nodes there are, who was where last, what everyone is answered; and nothing else."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

Deed = tuple[str, str, str | None]
"""What somebody does, to which node, and with what: a parent, a slug, a strategy.

Nodes are called as their first slug, and by a number behind.
"""

NOT_FOUND, NO_PARENT, TAKEN = "404 not_found", "422 validation_failed", "409 slug_taken"
CYCLE, NOT_EMPTY = "409 cycle", "409 not_empty"
ROOT: Final = None


@dataclass
class Grove:
    """A tree. `nodes`: each one's parent and slug; `left`: who went from a place last, or what is found there since."""

    nodes: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    left: dict[tuple[str | None, str], list[str | None]] = field(default_factory=dict)

    def after(self, *deeds: Deed) -> tuple[list[str], "Grove"]:
        """Return what is answered to some deeds, one after the other, and what is there then."""
        grove = deepcopy(self)
        return [grove.do(*deed) for deed in deeds], grove

    def do(self, what: str, node: str, how: str | None) -> str:
        """Do something, and return what is answered."""
        if what == "create":
            return self._create(node, how)
        if node not in self.nodes:
            return NOT_FOUND
        return self._delete(node, how) if what == "delete" else self._place(what, node, how)

    def _place(self, what: str, node: str, how: str | None) -> str:
        parent, slug = self.nodes[node]
        place = (how, slug) if what == "move" else (parent, str(how))
        if what == "move" and how is not ROOT:
            if how not in self.nodes:
                return NO_PARENT
            if node in self.line(how):
                return CYCLE
        if place != (parent, slug):
            if self._below(*place):
                return TAKEN
            self.left[parent, slug], self.nodes[node] = [node], place
        return "200"

    def _create(self, node: str, parent: str | None) -> str:
        if parent is not ROOT and parent not in self.nodes:
            return NO_PARENT
        if self._below(parent, node[0]):
            return TAKEN
        self.nodes[node] = parent, node[0]
        return "201"

    def _delete(self, node: str, strategy: str | None) -> str:
        (parent, slug), children = self.nodes[node], [n for n, (above, _) in self.nodes.items() if above == node]
        if children and strategy is None:
            return NOT_EMPTY
        if children and strategy == "reparent":
            if any(self._below(parent, self.nodes[child][1]) not in (None, node) for child in children):
                return TAKEN
            self.nodes |= {child: (parent, self.nodes[child][1]) for child in children}
            self.left[parent, slug] = [parent, node]
        self.nodes = {other: place for other, place in self.nodes.items() if node not in self.line(other)}
        return "204"

    def line(self, node: str) -> list[str]:
        """A node and what is above it, the root first."""
        parent = self.nodes[node][0]
        return [*(self.line(parent) if parent is not ROOT else []), node]

    @property
    def paths(self) -> dict[str, str]:
        """The path of each node."""
        return {node: "/".join(self.nodes[above][1] for above in self.line(node)) for node in self.nodes}

    def found(self, path: str) -> str | None:
        """The node that a path leads to, present or former."""
        return next(self._ends(ROOT, path.split("/")), None)

    def _ends(self, above: str | None, slugs: Sequence[str]) -> Iterator[str]:
        if not slugs:
            yield from [above] if above in self.nodes and above is not ROOT else []
            return
        if below := self._below(above, slugs[0]):
            yield from self._ends(below, slugs[1:])
        for there in self.left.get((above, slugs[0]), []):
            yield from self._ends(there, slugs[1:])

    def _below(self, above: str | None, slug: str) -> str | None:
        return next((node for node, place in self.nodes.items() if place == (above, slug)), None)

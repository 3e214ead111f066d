"""Paths that are read while nodes move: each was true at one moment of the read, or there is no answer.

A tree in memory stands for the table. Between any two items that a call reads, others move and rename and delete nodes:
no call is a snapshot. What is read is held against all that has ever been true.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final
from unittest.mock import patch

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.features.taxonomy.logic import node_queries
from chalicelib.features.taxonomy.logic.tree_shape import children_by_parent
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table, trees
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import MAX_REMEMBERED_MOVES, TreeReader
from tests.harness.stored_records import beginning

PLATFORM: Final = "platform"
NODES: Final = 7
MOMENT: Final = now()


class Tree:
    """A tree that others change, and every state that it was in, by its version."""

    def __init__(self, seed: int) -> None:
        """Begin with some nodes, each below one before it or a root."""
        self.random = Random(seed)  # noqa: S311 - no secret
        place: dict[str, Any] = {"organization_id": "organization", "platform_id": PLATFORM}
        self.place, self.tree = place, Taxonomy(**beginning(MOMENT), **place)
        self.nodes: dict[str, TaxonomyNode] = {}
        self.states: dict[int, dict[str, str]] = {}
        for _ in range(NODES):
            self.create()
        self.eager = 0.0

    def create(self) -> None:
        parent = [None, *self.nodes][-self.random.choice([1, 1, 2, 3]) :][0]
        line = self.line(parent)
        if parent is None or line:
            lineage = [node.id for node in line]
            new: dict[str, Any] = {**beginning(MOMENT), "id": f"{len(self.nodes):03d}", "slug": f"n{len(self.nodes)}"}
            node = TaxonomyNode(
                **new,
                **self.place,
                name="N",
                parent_id=parent,
                ancestor_ids=lineage,
                listed=ALL_NODES_LIST,
                tree_version=self.tree.version,
            )
            self.nodes[node.id] = node
        self.remember()

    def line(self, node_id: str | None) -> list[TaxonomyNode]:
        """The nodes from the root to one; none if one of them is felled."""
        line: list[TaxonomyNode] = []
        while node_id and (node := self.nodes[node_id]).listed:
            line.insert(0, node)
            node_id = node.parent_id
        return [] if node_id else line

    def remember(self) -> None:
        lines = {node_id: self.line(node_id) for node_id in self.nodes}
        self.states[self.tree.version] = {n: "/".join(node.slug for node in line) for n, line in lines.items() if line}

    def change(self) -> None:
        """Let somebody move, rename or fell a node."""
        node = self.nodes[self.random.choice([*self.nodes])]
        if not self.line(node.id):
            return
        changed: dict[str, Any] = {"tree_version": self.tree.version + 1}
        moved = [node.id]
        match self.random.choice(["move", "move", "rename", "rename", "rename", "fell", "reparent"]):
            case "move":
                above = self.line(self.random.choice([None, *self.nodes]))
                if node.id in [one.id for one in above]:
                    return
                changed |= {"parent_id": above[-1].id if above else None, "ancestor_ids": [one.id for one in above]}
            case "rename":
                changed["slug"] = f"{node.slug}x"
            case "fell":
                changed["listed"] = None
            case "reparent":
                children = [child for child in self.nodes.values() if child.parent_id == node.id]
                up = {**changed, "parent_id": node.parent_id}
                self.nodes |= {child.id: child.replace(**up) for child in children}
                changed["listed"] = None
                moved += [child.id for child in children]
        self.tree = self.tree.replace(moved=self.tree.recent_moves_with(moved), version=self.tree.version + 1)
        self.nodes[node.id] = node.replace(**changed)
        self.remember()

    def pass_time(self) -> None:
        while self.random.random() < self.eager:
            self.change() if self.random.random() < 0.8 else self.create()

    def item(self, key: ItemKey) -> Item | None:
        self.pass_time()
        if key[1] == trees.STATE:
            return self.tree.item()
        node = self.nodes.get(key[1].removeprefix("N#"))
        return node.item() if node else None

    def get_all(self, keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
        """Read one item after the other, in any order."""
        wanted = sorted(keys)
        self.random.shuffle(wanted)
        found = {key: self.item(key) for key in wanted}
        return {key: item for key, item in found.items() if item}

    def pages(self, _pk: str, **_words: str) -> Iterator[list[Item]]:
        """Read the partition in order, some items a page; the tree is its last."""
        reading, page, last = TreeReader(taxonomy_tree(PLATFORM)), list[Item](), ""
        while later := [node_id for node_id in sorted(self.nodes) if node_id > last]:
            last = later[0]
            page.append(self.item(reading.tree.node_key(last)) or {})
        yield page
        yield [self.item(reading.tree.state_key) or {}]


seeds = st.integers(0, 2**32)
eagerness = st.sampled_from([0.0, 0.05, 0.2, 0.4])


@settings(max_examples=500)
@given(seed=seeds, eager=eagerness, before=st.integers(0, 20) | st.just(2 * MAX_REMEMBERED_MOVES))
def test_a_path_was_true_at_one_moment_of_the_read(seed: int, eager: float, before: int) -> None:
    tree = Tree(seed)
    for _ in range(before):  # what the hints of nodes know nothing of
        tree.change()
    tree.eager = eager
    wanted = [node_id for node_id in tree.nodes if len(tree.line(node_id)) > 1][-4:]
    with patch.object(table, "get_all", tree.get_all):
        begun, reading = tree.tree.version, TreeReader(taxonomy_tree(PLATFORM))
        try:
            reading.load_ancestors(wanted)
        except Problem:
            assume(eager == 0.0)  # It says so where others never rest.
            raise
    during = [state for version, state in tree.states.items() if version >= begun]
    chains_found = {node_id: reading.chain(node_id) for node_id in wanted}
    found = {n: "/".join(item["slug"] for item in chain) for n, chain in chains_found.items() if chain}
    for node_id in wanted:
        assert any(found.get(node_id) == state.get(node_id) for state in during)
    if eager == 0.0:
        assert found == {node_id: path for node_id, path in during[0].items() if node_id in wanted}


@settings(max_examples=200)
@given(seed=seeds, eager=eagerness)
def test_a_whole_tree_is_as_it_was_at_one_version(seed: int, eager: float) -> None:
    tree = Tree(seed)
    for _ in range(20):
        tree.change()
    tree.eager, begun = eager, {node_id for node_id in tree.nodes if tree.line(node_id)}
    version = tree.tree.version
    with patch.object(table, "get_all", tree.get_all), patch.object(table, "iter_pages", tree.pages):
        try:
            nodes = node_queries.load_all_nodes(PLATFORM, tree.tree)
        except Problem:
            assume(eager == 0.0)  # It says so where others never rest.
            raise
    found = {node.id: node.path for below in children_by_parent(nodes).values() for node in below}
    later = [state for at, state in tree.states.items() if at >= version]
    assert any(
        found.items() <= state.items() and {n for n in begun if n in state} <= found.keys() for state in later
    ), "no state of the tree is like this"

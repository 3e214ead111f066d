"""A taxonomy matches its model after concurrent changes, and paths that are read meanwhile were valid at one time.

The second change is made between any two AWS calls of the first. Where paths are read, a tree in memory replaces the
table: nodes change between any two items that a call reads, because no call is a snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final
from unittest.mock import patch

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.reading import TreeReader, read_consistent_tree
from chalicelib.kernel.trees.tree import MAX_REMEMBERED_MOVES, STATE_SORT_KEY
from tests.harness import snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_organization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.workers import Workers
from tests.property.taxonomy_model import NodeChange, TaxonomyModel

SLUGS: Final = ("a", "b", "c", "d")
UNKNOWN_NODE_ID: Final = "01939d3c-0000-7000-8000-00000000000a"

slugs = st.sampled_from(SLUGS)
recent_index = st.integers(0, 7)
"""An index of the nodes that were ever created, newest first."""

creations = st.tuples(st.just("create"), slugs, st.none() | recent_index)
moves = st.tuples(st.just("move"), recent_index, st.none() | recent_index)
renames = st.tuples(st.just("rename"), recent_index, slugs)
deletions = st.tuples(st.just("delete"), recent_index, st.sampled_from([None, "cascade", "reparent"]))
changes = creations | creations | moves | moves | renames | deletions


DrawnChange = tuple[str, object, object]


class TaxonomyMachine(RuleBasedStateMachine):
    def __init__(self, api: ApiClient, workers: Workers, owner: Person) -> None:
        """Start with an empty taxonomy."""
        super().__init__()
        self.api, self.workers, self.owner = api, workers, owner
        self.model, self.ids = TaxonomyModel(), dict[str, str]()
        self.paths: list[str] = []
        self.created_count = 0
        self.platform: CreatedPlatform = snapshots.create_or_restore(
            ("an empty taxonomy",), lambda: create_platform(api, create_organization(api, owner))
        )

    @rule(drawn=changes)
    def change_node(self, drawn: DrawnChange) -> None:
        change = self._build_change(drawn)
        expected, self.model = self.model.after_changes(change)
        assert [self._apply(change)] == expected

    @rule(first_drawn=changes, second_drawn=changes, at=st.integers(1, 6))
    def change_concurrently(self, first_drawn: DrawnChange, second_drawn: DrawnChange, at: int) -> None:
        first, second = self._build_change(first_drawn), self._build_change(second_drawn)
        responses: list[str] = []
        with run_before_call(lambda: responses.append(self._apply(second)), call_number=at) as overtaking:
            first_response = self._apply(first)
        if overtaking.interrupted_call is None:
            responses.append(self._apply(second))
        in_order_responses, in_order_tree = self.model.after_changes(first, second)
        reversed_responses, reversed_tree = self.model.after_changes(second, first)
        outcomes = [(in_order_responses, in_order_tree), (reversed_responses[::-1], reversed_tree)]
        matching = [tree for expected, tree in outcomes if expected == [first_response, *responses]]
        assert matching, f"{first} and {second} were answered {[first_response, *responses]}"
        # Both orders may match, with equal paths that former paths reach in different ways.
        self.model = next((tree for tree in matching[1:] if not self._find_differences(tree)), matching[0])

    @rule()
    def settle(self) -> None:
        self.workers.run_until_idle()

    @invariant()
    def the_service_matches_the_model(self) -> None:
        assert not self._find_differences(self.model)
        self.paths += [path for path in self.model.paths.values() if path not in self.paths]

    def _find_differences(self, model: TaxonomyModel) -> list[str]:
        listed, tree, expected = self._list_paths(), self._tree_paths(), model.paths
        differences = [f"{name}: {paths}" for name, paths in (("list", listed), ("tree", tree)) if paths != expected]
        for path in dict.fromkeys([*self.paths, *expected.values()][-12:]):
            name, resolved = model.find_by_path(path), self._resolve(path)
            expected_match = name and (name, expected[name], "path" if path == expected[name] else "formerPath")
            if resolved != expected_match:
                differences.append(f"{path}: {resolved}, not {expected_match}")
        return differences

    def _resolve(self, path: str) -> tuple[str, str, str] | None:
        """Return name, path and kind of match of the node at a path, or None."""
        response = self.api.get(f"{self.platform.path}/taxonomy-resolve", caller=self.owner, query={"path": path})
        assert response.status in (200, 404), path
        if response.status == 404:
            return None
        node = response.json["node"]
        return self._name_of(node["id"]), node["path"], response.json["matchedBy"]

    def _build_change(self, drawn: DrawnChange) -> NodeChange:
        action, node, argument = drawn
        if action == "create":
            self.created_count += 1
            return action, f"{node}{self.created_count}", self._name_at(argument)
        name = self._name_at(node) or "nobody"
        return action, name, self._name_at(argument) if action == "move" else str(argument) if argument else None

    def _name_at(self, recent_index: object) -> str | None:
        names = [*self.ids][::-1]
        return names[recent_index % len(names)] if isinstance(recent_index, int) and names else None

    def _apply(self, change: NodeChange) -> str:
        action, name, argument = change
        path = f"/taxonomy-nodes/{self.ids.get(name, UNKNOWN_NODE_ID)}"
        match action:
            case "create":
                body: Json = {"platformId": self.platform.id, "name": name, "slug": name[0]}
                body |= {"parentId": self.ids[argument]} if argument else {}
                response = self.api.post("/taxonomy-nodes", caller=self.owner, json=body)
                if response.status == 201:
                    self.ids[name] = response.json["id"]
            case "move":
                body = {"parentId": self.ids[argument] if argument else None}
                response = self.api.patch(path, caller=self.owner, json=body)
            case "rename":
                response = self.api.patch(path, caller=self.owner, json={"slug": argument})
            case _:
                response = self.api.delete(path, caller=self.owner, query={"strategy": argument} if argument else None)
        return response.status_and_code if response.status >= 400 else str(response.status)

    def _name_of(self, node_id: str) -> str:
        return next(name for name, known_id in self.ids.items() if known_id == node_id)

    def _list_paths(self) -> dict[str, str]:
        items = self.api.get_items(f"{self.platform.path}/taxonomy-nodes", caller=self.owner, query={"limit": 100})
        return {self._name_of(item["id"]): item["path"] for item in items}

    def _tree_paths(self) -> dict[str, str]:
        tree = self.api.get(f"{self.platform.path}/taxonomy-tree", caller=self.owner).json
        branches: list[Json] = tree["items"]
        for branch in branches:  # The list grows during the iteration.
            branches.extend(branch["children"])
        return {self._name_of(branch["id"]): branch["path"] for branch in branches}


def test_a_taxonomy_matches_its_model_after_any_changes(api, workers, ada):
    effort = settings(max_examples=5, stateful_step_count=15)
    run_state_machine_as_test(lambda: TaxonomyMachine(api, workers, ada), settings=effort)  # type: ignore[arg-type]


PLATFORM: Final = "platform"
NODES: Final = 7
TIMESTAMP: Final = now()


class Tree:
    """A tree that changes concurrently, and each of its states by version."""

    def __init__(self, seed: int) -> None:
        """Start with some nodes. Each is a root, or a child of an earlier node."""
        self.random = Random(seed)  # noqa: S311 - no secret
        self.container_fields: dict[str, Any] = {"organization_id": "organization", "platform_id": PLATFORM}
        self.tree = Taxonomy(**new_id_and_time_fields(TIMESTAMP), **self.container_fields)
        self.nodes: dict[str, TaxonomyNode] = {}
        self.states: dict[int, dict[str, str]] = {}
        for _ in range(NODES):
            self.create()
        self.change_probability = 0.0

    def create(self) -> None:
        parent = [None, *self.nodes][-self.random.choice([1, 1, 2, 3]) :][0]
        ancestors = self.ancestors(parent)
        if parent is None or ancestors:
            names = {"id": f"{len(self.nodes):03d}", "slug": f"n{len(self.nodes)}", "name": "N"}
            place = {"parent_id": parent, "ancestor_ids": [node.id for node in ancestors], "listed": ALL_NODES_LIST}
            fields = {**new_id_and_time_fields(TIMESTAMP), **self.container_fields, **names, **place}
            node = TaxonomyNode(**fields, tree_version=self.tree.version)
            self.nodes[node.id] = node
        self.record_state()

    def ancestors(self, node_id: str | None) -> list[TaxonomyNode]:
        """Return the nodes from the root to a node, or none if one of them is deleted."""
        ancestors: list[TaxonomyNode] = []
        while node_id and (node := self.nodes[node_id]).listed:
            ancestors.insert(0, node)
            node_id = node.parent_id
        return [] if node_id else ancestors

    def record_state(self) -> None:
        ancestors_by_id = {node_id: self.ancestors(node_id) for node_id in self.nodes}
        self.states[self.tree.version] = {
            n: "/".join(node.slug for node in ancestors) for n, ancestors in ancestors_by_id.items() if ancestors
        }

    def change(self) -> None:
        node = self.nodes[self.random.choice([*self.nodes])]
        if not self.ancestors(node.id):
            return
        changed: dict[str, Any] = {"tree_version": self.tree.version + 1}
        moved_ids = [node.id]
        match self.random.choice(["move", "move", "rename", "rename", "rename", "delete", "reparent"]):
            case "move":
                new_ancestors = self.ancestors(self.random.choice([None, *self.nodes]))
                if node.id in [ancestor.id for ancestor in new_ancestors]:
                    return
                ancestor_ids = [ancestor.id for ancestor in new_ancestors]
                changed |= {"parent_id": ancestor_ids[-1] if ancestor_ids else None, "ancestor_ids": ancestor_ids}
            case "rename":
                changed["slug"] = f"{node.slug}x"
            case "delete":
                changed["listed"] = None
            case "reparent":
                children = [child for child in self.nodes.values() if child.parent_id == node.id]
                reparent_fields = {**changed, "parent_id": node.parent_id}
                self.nodes |= {child.id: child.replace(**reparent_fields) for child in children}
                changed["listed"] = None
                moved_ids += [child.id for child in children]
        moved = self.tree.recent_moves_after(self.tree.version + 1, moved_ids)
        self.tree = self.tree.replace(moved=moved, version=self.tree.version + 1)
        self.nodes[node.id] = node.replace(**changed)
        self.record_state()

    def change_randomly(self) -> None:
        while self.random.random() < self.change_probability:
            self.change() if self.random.random() < 0.8 else self.create()

    def item(self, key: ItemKey) -> Item | None:
        self.change_randomly()
        if key[1] == STATE_SORT_KEY:
            return self.tree.item()
        node = self.nodes.get(key[1].removeprefix("N#"))
        return node.item() if node else None

    def get_all(self, keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
        """Read items one by one, in random order."""
        shuffled_keys = sorted(keys)
        self.random.shuffle(shuffled_keys)
        items = {key: self.item(key) for key in shuffled_keys}
        return {key: item for key, item in items.items() if item}

    def pages(self, _pk: str, **_options: str) -> Iterator[list[Item]]:
        """Read the partition in order, in pages. The tree's state is last."""
        reading, page, last = TreeReader(taxonomy_tree(PLATFORM)), list[Item](), ""
        while later := [node_id for node_id in sorted(self.nodes) if node_id > last]:
            last = later[0]
            page.append(self.item(reading.tree.node_key(last)) or {})
        yield page
        yield [self.item(reading.tree.state_key) or {}]


seeds = st.integers(0, 2**32)
change_probabilities = st.sampled_from([0.0, 0.05, 0.2, 0.4])


@settings(max_examples=150)
@given(
    seed=seeds, change_probability=change_probabilities, before=st.integers(0, 20) | st.just(2 * MAX_REMEMBERED_MOVES)
)
def test_a_path_was_valid_at_one_time_during_the_read(seed, change_probability, before):
    tree = Tree(seed)
    for _ in range(before):  # changes that the nodes' hints do not contain
        tree.change()
    tree.change_probability = change_probability
    node_ids = [node_id for node_id in tree.nodes if len(tree.ancestors(node_id)) > 1][-4:]
    with patch.object(table, "get_all", tree.get_all):
        version_before, reading = tree.tree.version, TreeReader(taxonomy_tree(PLATFORM))
        try:
            reading.load_consistent_ancestors(node_ids)
        except Problem:
            assume(change_probability == 0.0)  # Constant changes cause an error.
            raise
    during = [state for version, state in tree.states.items() if version >= version_before]
    chains = {node_id: reading.nodes_from_root_or_none(node_id) for node_id in node_ids}
    paths = {n: "/".join(item["slug"] for item in chain) for n, chain in chains.items() if chain}
    for node_id in node_ids:
        assert any(paths.get(node_id) == state.get(node_id) for state in during)
    if change_probability == 0.0:
        assert paths == {node_id: path for node_id, path in during[0].items() if node_id in node_ids}


def iter_paths_below(
    children: Mapping[str | None, Sequence[Item]], parent_id: str | None, prefix: str
) -> Iterator[tuple[str, str]]:
    """Yield the ids of the nodes below a node, and their paths."""
    for node in children.get(parent_id, ()):
        yield node["id"], prefix + node["slug"]
        yield from iter_paths_below(children, node["id"], f"{prefix}{node['slug']}/")


@given(seed=seeds, change_probability=change_probabilities)
def test_a_whole_tree_is_read_at_one_version(seed, change_probability):
    tree = Tree(seed)
    for _ in range(20):
        tree.change()
    tree.change_probability = change_probability
    nodes_before = {node_id for node_id in tree.nodes if tree.ancestors(node_id)}
    version = tree.tree.version
    with patch.object(table, "get_all", tree.get_all), patch.object(table, "iter_item_pages", tree.pages):
        try:
            children = read_consistent_tree(taxonomy_tree(PLATFORM), version).children_by_parent_id()
        except Problem:
            assume(change_probability == 0.0)  # Constant changes cause an error.
            raise
    paths = dict(iter_paths_below(children, None, ""))
    later = [state for at, state in tree.states.items() if at >= version]
    assert any(
        paths.items() <= state.items() and {n for n in nodes_before if n in state} <= paths.keys() for state in later
    ), "the result equals no state of the tree"

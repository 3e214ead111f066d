"""Trees: siblings with different slugs, moves that never form a cycle, former paths, and a bounded number of reads."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, page_tree
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem, ValidationProblem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import KINDS, Entity, Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.trees.changes import DepthLimit, RecordUpdates, reject_cycle
from chalicelib.kernel.trees.paths import PathResolver, Position, valid_slugs_or_none
from chalicelib.kernel.trees.reading import TreeReader
from chalicelib.kernel.trees.tree import MAX_REMEMBERED_MOVES, NODE_SORT_KEY, Tree, TreeState
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields

TREE: Final = Tree("L#1", "shelf-slug#1")
LIMIT: Final = DepthLimit(4, lambda height: f"has {height} levels below")


class Library(TreeState):
    """The state of a tree of shelves."""

    kind = "library"
    pk = "L#1"


class Shelf(Entity):
    """A node of the tree."""

    kind = "shelf"
    pk, sk = "L#1", NODE_SORT_KEY
    attribute_names: ClassVar = {"ancestor_ids": "lineage", "tree_version": "placed"}

    slug: str
    parent_id: str | None = None
    ancestor_ids: list[str]
    tree_version: int = 1
    listed: bool = True
    child_count: int = 0


del KINDS["library"], KINDS["shelf"]

parents = st.lists(st.integers(0, 20), min_size=1, max_size=12)
"""For each node, its parent: the node that many places before it, or none if there are fewer."""


class StoredTree:
    """The items of a tree in memory. Each node has a slug of its own, so that all of them could be siblings."""

    def __init__(self, distances: Iterable[int], *, with_hints: bool = True) -> None:
        """Create a node for each distance to its parent."""
        self.items: dict[ItemKey, Item] = {TREE.state_key: {"pk": "L#1", "sk": "N~", "version": 1, "moved": {}}}
        self.chains: dict[str, list[str]] = {}
        for number, distance in enumerate(distances):
            above = self.chains[str(number - distance)] if 0 < distance <= number else []
            hints = above if with_hints else []
            item = TREE.node_item(str(number), above[-1] if above else None, f"s{number}", hints, 1)
            self.chains[str(number)] = [*above, str(number)]
            self.items[item["pk"], item["sk"]] = item
            self.items[TREE.slug_guard_key(item["parent_id"], item["slug"])] = {"ref": str(number)}
        self.read_count = 0

    def get_all(self, keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
        self.read_count += 1
        return {key: self.items[key] for key in keys if key in self.items}

    @contextmanager
    def replacing_the_table(self) -> Iterator[None]:
        pages = [[item for key, item in self.items.items() if key[0] == TREE.partition]]
        with (
            patch.object(table, "get_all", self.get_all),
            patch.object(table, "iter_item_pages", lambda *_, **__: pages),
        ):
            yield

    def path_of(self, node_id: str) -> list[str]:
        return [f"s{each}" for each in self.chains[node_id]]


class Resolver(PathResolver[str | None]):
    """Resolves paths with the guards alone, as if all items of the slug index had overflowed."""

    max_steps: ClassVar = 30
    former_positions: Mapping[tuple[str | None, str], str] = {}
    visited_count = 0

    def _indexed_positions_or_none(self, slug: str) -> Mapping[str, Position] | None:
        return None

    def _read_item_or_none(self, key: ItemKey) -> Item | None:
        self.reader.load_unread([key])
        return self.reader.items.get(key)

    def _iter_next_steps(self, step: str | None, level: int) -> Iterator[str | None]:
        self.visited_count += 1
        yield from (node_id for node_id, _ in self.iter_current_children(step, level))
        yield from filter(None, [self.former_positions.get((step, self.slugs[level]))])


@pytest.mark.parametrize("parent_id", [None, "parent"])
def test_a_tree_reserves_slugs_as_the_records_in_it_do(parent_id):
    fields: dict[str, Any] = {"site_id": "site", "platform_id": "platform", "parent_id": parent_id, "slug": "looms"}
    published = {"site_id": "site", "published_parent_id": parent_id, "published_slug": "looms"}
    keys = [
        (page_tree("site", DRAFT_TREE), guard_key(Page.by_slug, fields)),
        (page_tree("site", PUBLISHED_TREE), guard_key(Page.by_published_slug, published)),
        (taxonomy_tree("platform"), guard_key(TaxonomyNode.by_slug, fields)),
    ]
    assert [tree.slug_guard_key(parent_id, "looms") for tree, _ in keys] == [key for _, key in keys]


def test_siblings_cannot_share_a_slug_but_nodes_below_other_parents_can():
    positions = [(None, "a"), (None, "b"), ("a", "a"), ("a", "b"), ("b", "a")]
    assert len({TREE.slug_guard_key(*position) for position in positions}) == len(positions)


@given(distances=parents, with_hints=st.booleans())
def test_ancestors_are_found_with_one_read_or_at_most_one_for_each_level(distances, with_hints):
    stored = StoredTree(distances, with_hints=with_hints)
    with stored.replacing_the_table():
        for node_id, chain in stored.chains.items():
            reader, stored.read_count = TreeReader(TREE), 0
            reader.load_consistent_ancestors([node_id])
            nodes = reader.nodes_from_root_or_none(node_id)
            assert [node["id"] for node in nodes or ()] == chain
            assert stored.read_count <= (2 if with_hints else len(chain))


@given(distances=parents)
def test_the_children_of_a_node_have_the_order_in_which_they_were_read(distances):
    stored = StoredTree(distances)
    reader = TreeReader.from_items(TREE, stored.items)
    children = reader.children_by_parent_id()
    assert [node["id"] for node in children.get(None, ())] == [
        n for n, chain in stored.chains.items() if len(chain) == 1
    ]
    for node_id, chain in stored.chains.items():
        below = [other for other, other_chain in stored.chains.items() if other_chain[:-1] == chain]
        assert [node["id"] for node in children.get(node_id, ())] == below


@given(distances=parents)
def test_the_height_of_a_node_counts_up_to_the_maximum_depth(distances):
    stored = StoredTree(distances)
    with stored.replacing_the_table():
        for node_id, chain in stored.chains.items():
            below = [len(each) - len(chain) for each in stored.chains.values() if each[: len(chain)] == chain]
            assert LIMIT.read_height(TREE, 1, node_id) == min(max(below), LIMIT.max_depth)


def test_a_deleted_node_has_no_place_among_its_siblings():
    stored = StoredTree([0, 1, 2])
    stored.items[TREE.node_key("1")]["listed"] = None
    reader = TreeReader.from_items(TREE, stored.items)
    assert [node["id"] for node in reader.children_by_parent_id()["0"]] == ["2"]
    assert reader.nodes_from_root_or_none("1") is None


@pytest.mark.parametrize(
    ("ancestor_count", "height", "is_allowed"), [(0, 3, True), (3, 0, True), (0, 4, False), (4, 0, False)]
)
def test_a_node_and_its_lowest_descendant_are_within_the_maximum_depth(ancestor_count, height, is_allowed):
    assert LIMIT.allows(ancestor_count, height) is is_allowed
    if is_allowed:
        LIMIT.reject_excess(ancestor_count, height)
        return
    with pytest.raises(ValidationProblem) as rejected:
        LIMIT.reject_excess(ancestor_count, height)
    (error,) = rejected.value.errors
    assert (error.pointer, error.code, error.detail) == ("/parentId", "too_deep", f"has {height} levels below")


@given(distances=parents)
def test_a_path_leads_to_its_node_even_if_the_slug_index_overflows(distances):
    stored = StoredTree(distances)
    with stored.replacing_the_table():
        for node_id, chain in stored.chains.items():
            resolver, stored.read_count = Resolver(TreeReader(TREE), stored.path_of(node_id)), 0
            assert [found for found, _ in resolver.iter_current_path(None)] == chain
            assert stored.read_count <= 2 * len(chain)
            assert [*Resolver(TreeReader(TREE), [*resolver.slugs, "x"]).iter_current_path(None)][len(chain) :] == []


@given(distances=parents, data=st.data())
def test_the_former_path_of_a_moved_node_leads_to_it_and_to_its_subtree(distances, data):
    stored = StoredTree(distances)
    moved_id = data.draw(st.sampled_from([*stored.chains]))
    former_paths = {n: stored.path_of(n) for n, chain in stored.chains.items() if moved_id in chain}
    item = stored.items[TREE.node_key(moved_id)]
    del stored.items[TREE.slug_guard_key(item["parent_id"], item["slug"])]
    former_positions = {(item["parent_id"], item["slug"]): moved_id}
    stored.items[TREE.node_key(moved_id)] = {**item, "parent_id": None, "slug": "moved"}
    stored.items[TREE.slug_guard_key(None, "moved")] = {"ref": moved_id}
    with stored.replacing_the_table():
        for node_id, slugs in former_paths.items():
            resolver = Resolver(TreeReader(TREE), slugs)
            resolver.former_positions = former_positions
            assert [*resolver.iter_ends_of_former_path(None, 0, set())] == [node_id]


def test_the_search_for_a_former_path_visits_a_limited_number_of_steps():
    stored = StoredTree([0])
    with stored.replacing_the_table():
        resolver = Resolver(TreeReader(TREE), [f"s{n % 2}" for n in range(50)])
        resolver.former_positions = {
            (parent, slug): child for parent in (None, "0", "1") for slug, child in [("s0", "0"), ("s1", "1")]
        }
        assert [*resolver.iter_ends_of_former_path(None, 0, set())] == []
    assert resolver.visited_count == Resolver.max_steps


@pytest.mark.parametrize(("path", "slugs"), [("a/b-2", ["a", "b-2"]), ("a//b", None), ("A", None), ("a/b/c/d/e", None)])
def test_a_path_consists_of_slugs_up_to_the_maximum_depth(path, slugs):
    assert valid_slugs_or_none(path.split("/"), LIMIT.max_depth) == slugs


def test_a_tree_remembers_its_latest_moves():
    library = Library(**new_id_and_time_fields(now()))
    for version in range(2, MAX_REMEMBERED_MOVES + 4):
        library = library.replace(moved=library.recent_moves_after(version, [f"n{version}"]), version=version)
    assert sorted(library.moved.values()) == [*range(4, MAX_REMEMBERED_MOVES + 4)]
    assert library.recent_moves_after(99, ["n5"])["n5"] == 99


@pytest.fixture
def shelves(aws):
    """Two roots in a stored tree."""
    with committed_changes() as changes:
        changes.create(Library(**new_id_and_time_fields(changes.now)))
        return [
            changes.create(Shelf(**{**new_id_and_time_fields(changes.now), "id": name}, slug=name, ancestor_ids=[]))
            for name in ("a", "b")
        ]


def move(shelf: Shelf, parent: Shelf) -> UnitOfWork:
    """Return the uncommitted changes that move a shelf below another one, as they are stored now."""
    reader = TreeReader(TREE)
    reader.load_consistent_ancestors([parent.id])
    ancestor_ids = [node["id"] for node in reader.nodes_from_root_or_none(parent.id) or ()]
    reject_cycle(shelf.id, ancestor_ids, "It would be below itself.")
    library, changes = Library.from_item(load_item(TREE.state_key)), UnitOfWork(now())
    version = library.version + 1
    current = Shelf.from_item(load_item(shelf.item_key))
    changes.update(current, parent_id=parent.id, ancestor_ids=ancestor_ids, tree_version=version)
    changes.update(library, moved=library.recent_moves_after(version, [shelf.id]))
    return changes


def test_two_concurrent_moves_never_form_a_cycle(shelves):
    first, second = shelves
    one, other = move(first, second), move(second, first)
    one.commit()
    with pytest.raises(ConcurrentModification):
        other.commit()
    with pytest.raises(Problem, match="below itself"):
        move(second, first)
    reader = TreeReader(TREE)
    reader.load_consistent_ancestors([first.id])
    assert [node["id"] for node in reader.nodes_from_root_or_none(first.id) or ()] == [second.id, first.id]


def test_several_changes_of_a_record_are_one_write(shelves):
    changes, shelf = UnitOfWork(now()), Shelf.from_item(load_item(shelves[0].item_key))
    updates = RecordUpdates[Shelf](changes)
    for _ in range(3):
        updates.set_fields(shelf, child_count=updates.with_changes(shelf).child_count + 1)
    updates.add_to_unit_of_work()
    assert changes.write_count_without_pipeline_writes == 1
    changes.commit()
    assert load_item(shelf.item_key)["child_count"] == 3

"""Resolve a path to a page, slug by slug, with the items of the slug index."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, TreeName
from chalicelib.features.sites.models.intervals import (
    ALWAYS,
    OPEN_END,
    Intervals,
    intersect,
    last_end_or_open_end,
    subtract,
    with_open_last_interval,
)
from chalicelib.features.sites.pages.entities.pages import slug_guard_key
from chalicelib.features.sites.pages.entities.slug_index import (
    Position,
    former_child_ids_and_positions,
    former_slug_positions_key,
    positions_by_page_id_unless_overflowed,
    slug_positions_key,
)
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import CONCURRENT_MOVES, TreePartition, has_consistent_last_move

_MAX_STEPS: Final = 200
"""Maximum number of pages visited along a former path, where each level has current and former children."""

_MAX_ATTEMPTS: Final = 5

Breadcrumbs = tuple[Mapping[str, Any], ...]
"""Pages from a root to one of its descendants, each with `id`, `slug` and the fields of its position."""


def tree_state_and_slug_index_keys(tree: TreePartition, slugs: Sequence[str] | None) -> list[ItemKey]:
    """Return the item keys of a tree's state and of the slug index for some slugs."""
    index_keys = [key(tree, slug) for slug in slugs or () for key in (slug_positions_key, former_slug_positions_key)]
    # Drafts have no former positions.
    return [
        tree.state_key,
        *(key for key in index_keys if tree.partition.endswith(PUBLISHED_TREE) or key[1].startswith("S#")),
    ]


class PathResolver:
    """Resolves a path, given by its slugs, in one of the trees of a site.

    `prefetched` holds those at `slug_index_keys`, and is extended by further reads.
    """

    def __init__(
        self, site_id: str, tree: TreePartition, slugs: Sequence[str], prefetched: dict[ItemKey, Item]
    ) -> None:
        self._site_id, self._tree, self._slugs, self._items = site_id, tree, slugs, prefetched

    @property
    def home_id(self) -> str | None:
        """The id of the home page."""
        return self._tree_state_item_or_empty.get("home")

    @property
    def _tree_state_item_or_empty(self) -> Item:
        return self._items.get(self._tree.state_key, {})

    def resolve_current_breadcrumbs_or_none(self) -> Breadcrumbs | None:
        """Return the breadcrumbs of the page at the path, or None if there is none.

        Items that were read at different versions of the tree are read again. Raises Problem `unavailable` if the tree
        keeps changing.
        """
        for _ in range(_MAX_ATTEMPTS):
            breadcrumbs = self._resolve_breadcrumbs_or_none(None) or self._resolve_breadcrumbs_or_none(self.home_id)
            if not breadcrumbs or all(
                has_consistent_last_move(page, page["id"], self._tree_state_item_or_empty)
                for page in breadcrumbs
                if page["slug"]
            ):
                return breadcrumbs
            self._items |= table.get_all(tree_state_and_slug_index_keys(self._tree, self._slugs))
        raise unavailable(CONCURRENT_MOVES)

    def iter_possible_former_page_ids(self) -> Iterator[str]:
        """Yield the ids of the pages to which the path may have led, where each slug is a current or a former one.

        The first pass yields pages that certainly had the path: all pages along it had their positions at the same
        time, and none of them was the home page, which is at `/`. The second pass yields the other candidates. On each
        level current pages come before former ones, and former ones in descending order of the time when they left.
        Paths that begin with the slug of the home page come last.
        """
        for strict in (True, False):
            visited: set[tuple[object, ...]] = set()
            for root_id in (None, *self._home_intervals_by_page_id):
                if root_id or self._slugs:
                    intervals = (
                        intersect(ALWAYS, self._home_intervals_by_page_id[root_id]) if root_id and strict else ALWAYS
                    )
                    yield from self._iter_possible_former_page_ids_below(
                        root_id, 0, intervals, visited, only_certain=strict
                    )
        if (
            self.home_id
            and self._slugs
            and any(page == self.home_id for page, _ in self._iter_current_children_at_level(None, 0))
        ):
            yield from self._iter_possible_former_page_ids_below(self.home_id, 1, ALWAYS, set(), only_certain=False)

    @cached_property
    def _home_intervals_by_page_id(self) -> dict[str, Intervals]:
        """The intervals during which pages were the home page, by page id, in descending order of their ends."""
        homes: dict[str, Intervals] = dict(self._tree_state_item_or_empty.get("former_homes", {}))
        if self.home_id:
            homes[self.home_id] = with_open_last_interval(
                homes.get(self.home_id, ()), self._tree_state_item_or_empty["home_since"]
            )
        return dict(sorted(homes.items(), key=lambda pair: last_end_or_open_end(pair[1]), reverse=True))

    def _resolve_breadcrumbs_or_none(self, root_id: str | None) -> Breadcrumbs | None:
        """Return the breadcrumbs of the page at the path, starting below a page or, if `root_id` is None, at a root."""
        if not self._slugs:
            return (
                ({"id": root_id, "slug": "", "revision_id": self._tree_state_item_or_empty.get("home_revision_id")},)
                if root_id
                else None
            )
        breadcrumbs: list[Mapping[str, Any]] = []
        parent_id = root_id
        for level, slug in enumerate(self._slugs):
            child = next(self._iter_current_children_at_level(parent_id, level), None)
            if child is None or (child[0] == self.home_id and root_id is None):
                return None
            parent_id = child[0]
            breadcrumbs.append({**child[1], "id": parent_id, "slug": slug})
        return tuple(breadcrumbs)

    def _iter_possible_former_page_ids_below(
        self,
        parent_id: str | None,
        level: int,
        intervals: Intervals,
        visited: set[tuple[object, ...]],
        *,
        only_certain: bool,
    ) -> Iterator[str]:
        """Yield the pages to which the rest of the path may have led from a parent, during some intervals."""
        if (parent_id, level, intervals) in visited or len(visited) >= _MAX_STEPS:
            return
        visited.add((parent_id, level, intervals))
        if level == len(self._slugs):
            if parent_id:
                yield parent_id
            return
        former = former_child_ids_and_positions(
            self._items.get(former_slug_positions_key(self._tree, self._slugs[level])), parent_id
        )
        for page_id, position in (*self._iter_current_children_at_level(parent_id, level), *former):
            if only_certain:
                common = intersect(intervals, self._intervals_below_parent(page_id, position, parent_id, level))
            else:
                common = () if parent_id is None and page_id == self.home_id and "times" not in position else ALWAYS
            if common:
                yield from self._iter_possible_former_page_ids_below(
                    page_id, level + 1, common, visited, only_certain=only_certain
                )

    def _intervals_below_parent(self, page_id: str, position: Position, parent_id: str | None, level: int) -> Intervals:
        """Return the intervals during which the path led to a page at a position below a parent.

        On the last level these are the intervals during which the page itself was published.
        """
        intervals: Intervals = position["times"] if "times" in position else [[position["since"], OPEN_END]]
        if level + 1 == len(self._slugs):
            intervals = intersect(intervals, position["shown"])
        return subtract(intervals, self._home_intervals_by_page_id.get(page_id, ())) if parent_id is None else intervals

    def _iter_current_children_at_level(self, parent_id: str | None, level: int) -> Iterator[tuple[str, Position]]:
        """Yield the child of a page that has the slug of a level, with its position."""
        positions = positions_by_page_id_unless_overflowed(
            self._items.get(slug_positions_key(self._tree, self._slugs[level]))
        )
        if positions is None:
            positions = self._load_position_by_page_id_via_guard(parent_id, self._slugs[level])
        yield from (
            (page_id, position) for page_id, position in positions.items() if position.get("parent_id") == parent_id
        )

    def _load_position_by_page_id_via_guard(self, parent_id: str | None, slug: str) -> Mapping[str, Position]:
        """Return the child of a page with a slug, by the item that reserves the slug. It takes two further reads."""
        tree_name: TreeName = PUBLISHED_TREE if self._tree.partition.endswith(PUBLISHED_TREE) else DRAFT_TREE
        guard = self._get_or_read_item(slug_guard_key(self._site_id, tree_name, parent_id, slug))
        position = self._get_or_read_item(self._tree.node_key(guard["ref"])) if guard else None
        return {guard["ref"]: position} if guard and position and position["slug"] == slug else {}

    def _get_or_read_item(self, key: ItemKey) -> Item | None:
        if key not in self._items:
            self._items |= table.get_all([key])
        return self._items.get(key)

"""Resolve a path to a page, slug by slug, with the items of the slug index."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE
from chalicelib.features.sites.models.intervals import (
    ALWAYS,
    OPEN_END,
    Intervals,
    intersect,
    last_end_or_open_end,
    subtract,
    with_open_last_interval,
)
from chalicelib.features.sites.pages.entities.slug_index import (
    former_child_ids_and_positions,
    former_slug_positions_key,
    positions_by_page_id_unless_overflowed,
)
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.paths import PathResolver, Position
from chalicelib.kernel.trees.reading import CONCURRENT_MOVES
from chalicelib.kernel.trees.tree import Tree, has_consistent_last_move

_MAX_STEPS: Final = 200
"""Maximum number of pages visited along a former path, where each level has current and former children."""

_MAX_ATTEMPTS: Final = 5

Breadcrumbs = tuple[Mapping[str, Any], ...]
"""Pages from a root to one of its descendants, each with `id`, `slug` and the fields of its position."""

Step = tuple[str | None, Intervals | None]
"""The id of a page to which the beginning of a path led, and when it did so; None if that is not certain."""


def tree_state_and_slug_index_keys(tree: Tree, slugs: Sequence[str] | None) -> list[ItemKey]:
    """Return the item keys of a tree's state and of the slug index for some slugs."""
    keys = [tree.state_key]
    for slug in slugs or ():
        keys.append(tree.slug_index_key(slug))
        if tree.partition.endswith(PUBLISHED_TREE):  # Drafts have no former positions.
            keys.append(former_slug_positions_key(tree, slug))
    return keys


class PagePathResolver(PathResolver[Step]):
    """Resolves a path in one of the trees of a site. The reader contains the items at `tree_state_and_slug_index_keys`.

    The reads of further items leave the state of the tree as it was read.
    """

    max_steps: ClassVar = _MAX_STEPS

    @property
    def home_id(self) -> str | None:
        """The id of the home page."""
        return self.reader.state.get("home")

    def resolve_current_breadcrumbs_or_none(self) -> Breadcrumbs | None:
        """Return the breadcrumbs of the page at the path, or None if there is none.

        Items that were read at different versions of the tree are read again. Raises Problem `unavailable` if the tree
        keeps changing.
        """
        for _ in range(_MAX_ATTEMPTS):
            breadcrumbs = self._resolve_breadcrumbs_or_none(None) or self._resolve_breadcrumbs_or_none(self.home_id)
            if not breadcrumbs or all(
                has_consistent_last_move(page, self.reader.state) for page in breadcrumbs if page["slug"]
            ):
                return breadcrumbs
            self.reader.items |= table.get_all(tree_state_and_slug_index_keys(self.reader.tree, self.slugs))
        raise unavailable(CONCURRENT_MOVES)

    def iter_possible_former_page_ids(self) -> Iterator[str]:
        """Yield the ids of the pages to which the path may have led, where each slug is a current or a former one.

        The first pass yields pages that certainly had the path: all pages along it had their positions at the same
        time, and none of them was the home page, which is at `/`. The second pass yields the other candidates. On each
        level current pages come before former ones, and former ones in descending order of the time when they left.
        Paths that begin with the slug of the home page come last.
        """
        homes = self._home_intervals_by_page_id
        for is_certain in (True, False):
            visited: set[tuple[Step, int]] = set()
            for root_id in (None, *homes):
                if root_id or self.slugs:
                    intervals = intersect(ALWAYS, homes[root_id]) if root_id else ALWAYS
                    yield from self._iter_former_page_ids((root_id, intervals if is_certain else None), 0, visited)
        if self.home_id and self.slugs and self.home_id in dict(self.iter_current_children(None, 0)):
            yield from self._iter_former_page_ids((self.home_id, None), 1, set())

    def _iter_next_steps(self, step: Step, level: int) -> Iterator[Step]:
        parent_id, intervals = step
        former_item = self.reader.items.get(former_slug_positions_key(self.reader.tree, self.slugs[level]))
        for page_id, position in (
            *self.iter_current_children(parent_id, level),
            *former_child_ids_and_positions(former_item, parent_id),
        ):
            if intervals is not None:
                common = intersect(intervals, self._intervals_below_parent(page_id, position, parent_id, level))
                if common:
                    yield page_id, common
            elif parent_id or page_id != self.home_id or "times" in position:
                yield page_id, None

    def _indexed_positions_or_none(self, slug: str) -> Mapping[str, Position] | None:
        return positions_by_page_id_unless_overflowed(self.reader.items.get(self.reader.tree.slug_index_key(slug)))

    def _read_item_or_none(self, key: ItemKey) -> Item | None:
        if key not in self.reader.items:
            self.reader.items |= table.get_all([key])
        return self.reader.items.get(key)

    def _iter_former_page_ids(self, step: Step, level: int, visited: set[tuple[Step, int]]) -> Iterator[str]:
        yield from (page_id for page_id, _ in self.iter_ends_of_former_path(step, level, visited) if page_id)

    @cached_property
    def _home_intervals_by_page_id(self) -> dict[str, Intervals]:
        """The intervals during which pages were the home page, by page id, in descending order of their ends."""
        homes: dict[str, Intervals] = dict(self.reader.state.get("former_homes", {}))
        if self.home_id:
            homes[self.home_id] = with_open_last_interval(homes.get(self.home_id, ()), self.reader.state["home_since"])
        return dict(sorted(homes.items(), key=lambda pair: last_end_or_open_end(pair[1]), reverse=True))

    def _resolve_breadcrumbs_or_none(self, root_id: str | None) -> Breadcrumbs | None:
        """Return the breadcrumbs of the page at the path, starting below a page or, if `root_id` is None, at a root."""
        if not self.slugs:
            home = {"id": root_id, "slug": "", "revision_id": self.reader.state.get("home_revision_id")}
            return (home,) if root_id else None
        breadcrumbs: list[Mapping[str, Any]] = []
        for page_id, position in self.iter_current_path(root_id):
            if root_id is None and page_id == self.home_id:
                return None
            breadcrumbs.append({**position, "id": page_id, "slug": self.slugs[len(breadcrumbs)]})
        return tuple(breadcrumbs) if len(breadcrumbs) == len(self.slugs) else None

    def _intervals_below_parent(self, page_id: str, position: Position, parent_id: str | None, level: int) -> Intervals:
        """Return the intervals during which the path led to a page at a position below a parent.

        On the last level these are the intervals during which the page itself was published.
        """
        intervals: Intervals = position["times"] if "times" in position else [[position["since"], OPEN_END]]
        if level + 1 == len(self.slugs):
            intervals = intersect(intervals, position["shown"])
        return subtract(intervals, self._home_intervals_by_page_id.get(page_id, ())) if parent_id is None else intervals

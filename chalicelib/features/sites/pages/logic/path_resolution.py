"""Walking along the slugs of a path, from page to page, by the trails that were read of it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from chalicelib.features.sites.entities.sites import DRAFT, LIVE, TreeName
from chalicelib.features.sites.models.intervals import ALWAYS, NEVER, Times, begun, both, last, without
from chalicelib.features.sites.pages.entities.pages import guard_of
from chalicelib.features.sites.pages.entities.slug_index import Seat, former_key, seats_on, trail_key, were_below
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import KEEP_MOVING, Tree, is_settled

_MOST_STEPS: Final = 200
"""Pages that are looked at along a former path: below who is there now, and below all who were, on each level."""

_TRIES: Final = 5

Line = tuple[Mapping[str, Any], ...]
"""Pages, each below the one before it: `id`, `slug` and what their seats say."""


def signposts(tree: Tree, slugs: Sequence[str] | None) -> list[ItemKey]:
    """Return where it stands what is known of a tree as a whole, and what leads along some slugs."""
    trails = [key(tree, slug) for slug in slugs or () for key in (trail_key, former_key)]
    # Drafts leave no former places behind.
    return [tree.state_key, *(key for key in trails if tree.partition.endswith(LIVE) or key[1].startswith("S#"))]


class Walk:
    """A walk through one of a site's trees; `read` holds what `signposts` leads to, and what is read more is added."""

    def __init__(self, site_id: str, tree: Tree, slugs: Sequence[str], read: dict[ItemKey, Item]) -> None:
        self._site_id, self._tree, self._slugs, self._read = site_id, tree, slugs, read

    @property
    def home(self) -> str | None:
        """The page at `/`."""
        return self._state.get("home")

    @property
    def _state(self) -> Item:
        return self._read.get(self._tree.state_key, {})

    def here(self) -> Line | None:
        """Return the pages from the root to the one that the path leads to; None if there is none.

        What was read of two moments is read again. Raises Problem `unavailable` if that does not end.
        """
        for _ in range(_TRIES):
            line = self._from(None) or self._from(self.home)
            if not line or all(is_settled(page, page["id"], self._state) for page in line if page["slug"]):
                return line
            self._read |= table.get_all(signposts(self._tree, self._slugs))
        raise unavailable(KEEP_MOVING)

    def formerly(self) -> Iterator[str]:
        """Yield the pages that the path leads to if each of its slugs may be one that a page had there once.

        First those that were shown there at some moment: all who the path names were in their places at once then, and
        none of them was the home, which is at `/`. Then what the path would lead to all the same. On each level who is
        there now goes before who was, and of those goes first who left last; the home by its own slug comes last.
        """
        for strict in (True, False):
            been: set[tuple[object, ...]] = set()
            for root in (None, *self._homes):
                if root or self._slugs:
                    times = both(ALWAYS, self._homes[root]) if root and strict else ALWAYS
                    yield from self._ends(root, 0, times, been, strict=strict)
        if self.home and self._slugs and any(page == self.home for page, _ in self._right_below(None, 0)):
            yield from self._ends(self.home, 1, ALWAYS, set(), strict=False)

    @cached_property
    def _homes(self) -> dict[str, Times]:
        """When pages were the home: the one that is, then who was it, the last of them first."""
        homes: dict[str, Times] = dict(self._state.get("former_homes", {}))
        if self.home:
            homes[self.home] = begun(homes.get(self.home, ()), self._state["home_since"])
        return dict(sorted(homes.items(), key=lambda one: last(one[1]), reverse=True))

    def _from(self, root: str | None) -> Line | None:
        """Return the pages along the path that begins below the home, or with a root that is not the home."""
        if not self._slugs:
            return ({"id": root, "slug": "", "revision_id": self._state.get("home_revision_id")},) if root else None
        line: list[Mapping[str, Any]] = []
        above = root
        for level, slug in enumerate(self._slugs):
            found = next(self._right_below(above, level), None)
            if found is None or (found[0] == self.home and root is None):
                return None
            above = found[0]
            line.append({**found[1], "id": above, "slug": slug})
        return tuple(line)

    def _ends(
        self, above: str | None, level: int, times: Times, been: set[tuple[object, ...]], *, strict: bool
    ) -> Iterator[str]:
        """Yield what the rest of the path leads to from a page on, which its beginning led to at some times."""
        if (above, level, times) in been or len(been) >= _MOST_STEPS:
            return
        been.add((above, level, times))
        if level == len(self._slugs):
            if above:
                yield above
            return
        formers = were_below(self._read.get(former_key(self._tree, self._slugs[level])), above)
        for page_id, stay in (*self._right_below(above, level), *formers):
            if strict:
                met = both(times, self._times_of(page_id, stay, above, level))
            else:
                met = () if above is None and page_id == self.home and "times" not in stay else ALWAYS
            if met:
                yield from self._ends(page_id, level + 1, met, been, strict=strict)

    def _times_of(self, page_id: str, stay: Seat, above: str | None, level: int) -> Times:
        """Return when the path led to a page by a seat, if it led to the one above: at its end, to what is shown."""
        times: Times = stay["times"] if "times" in stay else [[stay["since"], NEVER]]
        if level + 1 == len(self._slugs):
            times = both(times, stay["shown"])
        return without(times, self._homes.get(page_id, ())) if above is None else times

    def _right_below(self, above: str | None, level: int) -> Iterator[tuple[str, Seat]]:
        """Yield the page that has the slug of a level right below another, with its seat."""
        seats = seats_on(self._read.get(trail_key(self._tree, self._slugs[level])))
        if seats is None:
            seats = self._by_guard(above, self._slugs[level])
        yield from ((page_id, seat) for page_id, seat in seats.items() if seat.get("parent_id") == above)

    def _by_guard(self, above: str | None, slug: str) -> Mapping[str, Seat]:
        """Return the page that has a slug below another as its guard knows it: by two reads more."""
        name: TreeName = LIVE if self._tree.partition.endswith(LIVE) else DRAFT
        guard = self._look_at(guard_of(self._site_id, name, above, slug))
        seat = self._look_at(self._tree.key(guard["ref"])) if guard else None
        return {guard["ref"]: seat} if guard and seat and seat["slug"] == slug else {}

    def _look_at(self, key: ItemKey) -> Item | None:
        if key not in self._read:
            self._read |= table.get_all([key])
        return self._read.get(key)

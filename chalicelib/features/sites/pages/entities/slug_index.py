"""Trails: what leads from slugs to pages. Items beside the seats of a tree, two for each slug, without a version.

The *trail* of a slug says of all pages that have it below which page they are; so a path is known from the trails of
its slugs, in one read. Its *former* trail says of all pages that had it among what is published, below which page that
was, and when; and when they were shown there themselves. As it names both by their ids, it holds for ever: whatever
else has moved since, a path that was true once leads to the page that was there. A trail of too many pages is wide: it
names none, and the guards of the slugs lead on.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.features.sites.models.intervals import ended, kept, last
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import Tree
from chalicelib.kernel.storage.writes import ItemUpdate, Write

MOST_NAMESAKES: Final = 100
MOST_FORMER: Final = 200
"""Of a slug: how many pages its trail names, and how many former places of pages; the oldest of these are forgotten."""

_ROOT: Final = "-"
_WIDE: Final = "wide"
_KEYS: Final = ("pk", "sk", _WIDE)
_SAID: Final = ("parent_id", "placed", "since", "shown", "revision_id")

Seat = Mapping[str, Any]
"""Where a page is: `parent_id`, `placed` (see `kernel/storage/trees.py`) and, if published, `since` and `revision_id`.

And of a place that it left, `times`: when it was there. Of either, `shown`: when it was published there itself.
"""


def trail_key(tree: Tree, slug: str) -> ItemKey:
    """Return where it stands which pages have a slug."""
    return tree.partition, f"S#{slug}"


def former_key(tree: Tree, slug: str) -> ItemKey:
    """Return where it stands which pages had a slug, and below which page."""
    return tree.partition, f"F#{slug}"


def seats_on(trail: Item | None) -> Mapping[str, Seat] | None:
    """Return the seats of all pages that have the slug of a trail, by their ids; None if it is wide."""
    if trail and trail.get(_WIDE):
        return None
    return {name: seat for name, seat in (trail or {}).items() if name not in _KEYS}


def were_below(former: Item | None, parent_id: str | None) -> list[tuple[str, Seat]]:
    """Return the pages that had the slug of a former trail below a page, or as roots; who left last comes first."""
    begins = f"{parent_id or _ROOT}/"
    found = [(name.removeprefix(begins), stay) for name, stay in (former or {}).items() if name.startswith(begins)]
    return sorted(found, key=lambda one: last(one[1]["times"]), reverse=True)


class Steps:
    """What becomes of the trails of a tree in one transaction, where each is written once at most.

    `read`: the trails, as far as they were read; the rest is taken to be short.
    """

    def __init__(self, tree: Tree, read: Mapping[ItemKey, Item]) -> None:
        self._tree, self._read = tree, read
        self._set: defaultdict[ItemKey, dict[str, Any]] = defaultdict(dict)
        self._gone: defaultdict[ItemKey, set[str]] = defaultdict(set)

    def __bool__(self) -> bool:
        return any(self._set.values()) or any(self._gone.values())

    def lead_to(self, seat: Seat) -> None:
        """Let the trail of its slug lead to a page, where that is now; `seat`: its row, with `id` and `slug`."""
        said = {name: seat[name] for name in _SAID if name in seat}
        self._set[trail_key(self._tree, seat["slug"])][seat["id"]] = said

    def leave(self, seat: Seat) -> None:
        """Let the trail of the slug that a page had no longer lead to it."""
        self._gone[trail_key(self._tree, seat["slug"])].add(seat["id"])

    def remember(self, seat: Seat, moment: str) -> None:
        """Remember where a page was published until a moment."""
        key = former_key(self._tree, seat["slug"])
        place = f"{seat['parent_id'] or _ROOT}/{seat['id']}"
        known = {name: stay for name, stay in self._read.get(key, {}).items() if "/" in name}
        before: Seat = known.get(place, {"times": [], "shown": []})
        self._set[key][place] = {
            "times": kept([*before["times"], [seat["since"], moment]]),
            "shown": kept([*before["shown"], *ended(seat["shown"], moment)]),
        }
        oldest = sorted(known, key=lambda name: last(known[name]["times"]))[: max(0, len(known) + 1 - MOST_FORMER)]
        self._gone[key] |= {*oldest} - {*self._set[key]}

    def forget(self, page_id: str, parent_id: str | None, slug: str) -> None:
        """Forget that a page was published somewhere."""
        self._gone[former_key(self._tree, slug)].add(f"{parent_id or _ROOT}/{page_id}")

    def writes(self) -> Iterator[Write]:
        """Yield what is to be written."""
        for key in {**self._set, **self._gone}:
            changed, gone = self._set[key], self._gone[key] - {*self._set[key]}
            trail = self._read.get(key, {})
            if key[1].startswith("S#") and len({*trail, *changed} - {*_KEYS} - gone) > MOST_NAMESAKES:
                changed, gone = {_WIDE: True}, {*trail} - {*_KEYS}
            elif trail.get(_WIDE):
                continue
            if changed or gone:
                yield ItemUpdate(key, set=changed, remove=sorted(gone)).write()

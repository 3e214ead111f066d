"""The slug index, which finds pages by slug. It has two items per slug and tree, which have no version.

The item of a *slug* contains the positions of all pages that have it, so one read of the items of all slugs of a path
resolves the path. The item of a *former slug* contains former published positions of pages: the parent, the intervals
during which a page was there, and those during which it was published there itself. Both items refer to pages by id,
so a former path leads to the page that had it, whatever has moved since. An item with too many pages overflows: it
contains no positions, and the items that reserve the slugs are read instead.

A position has the `parent_id` of the page, its tree version as `placed` and, if it is published, `since` and
`revision_id`. `shown` holds the intervals during which the page itself was published there. A former position has
`times`, the intervals during which the page was there.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.features.sites.models.intervals import last_end_or_open_end, limit_count_by_merging_oldest, parts_before
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.trees.paths import OVERFLOW_ATTRIBUTE, Position
from chalicelib.kernel.trees.tree import Tree

MAX_PAGES_PER_SLUG: Final = 100
"""Pages in the index item of a slug. Above that, the item only says that there are too many."""

MAX_FORMER_POSITIONS: Final = 200
"""Maximum number of former positions in one item. The oldest are dropped."""

_ROOT_ID: Final = "-"
_META_ATTRIBUTES: Final = ("pk", "sk", OVERFLOW_ATTRIBUTE)
_POSITION_FIELDS: Final = ("parent_id", "placed", "since", "shown", "revision_id")


def former_slug_positions_key(tree: Tree, slug: str) -> ItemKey:
    """Return the key of the item with the former positions of pages at a slug."""
    return tree.partition, f"F#{slug}"


def positions_by_page_id_unless_overflowed(slug_item: Item | None) -> Mapping[str, Position] | None:
    """Return the positions of all pages that have a slug by page id, or None if the item overflows."""
    if slug_item and slug_item.get(OVERFLOW_ATTRIBUTE):
        return None
    return {name: position for name, position in (slug_item or {}).items() if name not in _META_ATTRIBUTES}


def former_child_ids_and_positions(former_slug_item: Item | None, parent_id: str | None) -> list[tuple[str, Position]]:
    """Return the ids and former positions of the pages that had a slug below a parent or as roots, latest first."""
    prefix = f"{parent_id or _ROOT_ID}/"
    positions = [
        (name.removeprefix(prefix), position)
        for name, position in (former_slug_item or {}).items()
        if name.startswith(prefix)
    ]
    return sorted(positions, key=lambda pair: last_end_or_open_end(pair[1]["times"]), reverse=True)


class SlugIndexWriter:
    """Collects the changes of a tree's slug index in one transaction, so that each item is written once.

    `prefetched` were read before. Items that were not read are assumed not to overflow.
    """

    def __init__(self, tree: Tree, prefetched: Mapping[ItemKey, Item]) -> None:
        self._tree, self._items = tree, prefetched
        self._changed: defaultdict[ItemKey, dict[str, Any]] = defaultdict(dict)
        self._removed: defaultdict[ItemKey, set[str]] = defaultdict(set)

    def __bool__(self) -> bool:
        return any(self._changed.values()) or any(self._removed.values())

    def add(self, position: Position) -> None:
        """Add a page at its position, an item of its tree with `id` and `slug`."""
        fields = {name: position[name] for name in _POSITION_FIELDS if name in position}
        self._changed[self._tree.slug_index_key(position["slug"])][position["id"]] = fields

    def remove(self, position: Position) -> None:
        """Remove a page from the item of the slug that it had."""
        self._removed[self._tree.slug_index_key(position["slug"])].add(position["id"])

    def add_former_position(self, position: Position, left_at: str) -> None:
        """Add a position that a page had until `left_at` to the former positions."""
        key = former_slug_positions_key(self._tree, position["slug"])
        former_name = f"{position['parent_id'] or _ROOT_ID}/{position['id']}"
        former = {name: former_position for name, former_position in self._items.get(key, {}).items() if "/" in name}
        previous: Position = former.get(former_name, {"times": [], "shown": []})
        self._changed[key][former_name] = {
            "times": limit_count_by_merging_oldest([*previous["times"], [position["since"], left_at]]),
            "shown": limit_count_by_merging_oldest([*previous["shown"], *parts_before(position["shown"], left_at)]),
        }
        oldest = sorted(former, key=lambda name: last_end_or_open_end(former[name]["times"]))[
            : max(0, len(former) + 1 - MAX_FORMER_POSITIONS)
        ]
        self._removed[key] |= {*oldest} - {*self._changed[key]}

    def remove_former_position(self, page_id: str, parent_id: str | None, slug: str) -> None:
        """Remove a former position of a page."""
        self._removed[former_slug_positions_key(self._tree, slug)].add(f"{parent_id or _ROOT_ID}/{page_id}")

    def build_writes(self) -> Iterator[Write]:
        """Yield the writes of the changed items."""
        for key in {**self._changed, **self._removed}:
            changed, removed = self._changed[key], self._removed[key] - {*self._changed[key]}
            item = self._items.get(key, {})
            if key[1].startswith("S#") and len({*item, *changed} - {*_META_ATTRIBUTES} - removed) > MAX_PAGES_PER_SLUG:
                changed, removed = {OVERFLOW_ATTRIBUTE: True}, {*item} - {*_META_ATTRIBUTES}
            elif item.get(OVERFLOW_ATTRIBUTE):
                continue
            if changed or removed:
                yield ItemUpdate(key, set=changed, remove=sorted(removed)).to_write()

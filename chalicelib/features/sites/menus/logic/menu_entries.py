"""Where the items of menus lead: pages by their paths, as they are at the moment."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.features.sites.entities.sites import DRAFT, LIVE, TreeName, tree_of
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.models import MOST_ITEMS
from chalicelib.features.sites.pages.logic.page_queries import on_show
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import TreeReader

_LEVELS: Final = 3


@dataclass(frozen=True)
class Entry:
    """An item of a menu as a page shows it. `href`: where it leads; None of what only holds others."""

    label: str
    href: str | None
    children: Sequence["Entry"]


def resolved(menu: Menu, read: Mapping[ItemKey, Item]) -> list[Entry]:
    """Return the items of a menu as everybody sees them, by a read, mostly. `read`: what is read already."""
    shown = in_place(menu, drafts=False, read=read)
    return [*_entries(shown.published().items)]


def _entries(items: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    for item in items:
        yield Entry(item["label"], item.get("path") or item["url"], [*_entries(item["children"])])


def surroundings(request: Request) -> list[ItemKey]:
    """Return where the seats of the pages stand that the items of a body lead to, and what is known of both trees."""
    said = request.unvalidated_body.get("items")
    ids = [each for each in _page_ids(said, _LEVELS) if re.fullmatch(UUID_PATTERN, each)]
    trees = [tree_of(request.parameters["site_id"], name) for name in (LIVE, DRAFT)]
    return [key for tree in trees for key in (tree.state_key, *map(tree.key, dict.fromkeys(ids[:MOST_ITEMS])))]


def _page_ids(items: object, levels: int) -> Iterator[str]:
    """Yield what items name as their pages, as it was sent and nobody has validated yet."""
    for item in items if isinstance(items, list) and levels else []:
        if isinstance(item, dict):
            yield from (ascii_lower(each.strip()) for each in [item.get("pageId")] if isinstance(each, str))
            yield from _page_ids(item.get("children"), levels - 1)


def in_place(menu: Menu, *, drafts: bool, read: Mapping[ItemKey, Item]) -> Menu:
    """Return a menu with where its pages are; with `drafts` those are there too that are not published."""
    pages = Whereabouts(menu.site_id, drafts=drafts, read=read, asked=read)
    return menu.replace(places=pages.places(menu.page_ids, menu.above))


class Whereabouts:
    """Where pages of a site are, in the tree of what is published and with `drafts` in that of these.

    `asked`: what was looked at already, and `read` what was there.
    """

    def __init__(self, site_id: str, *, drafts: bool, read: Mapping[ItemKey, Item], asked: Iterable[ItemKey]) -> None:
        self._items, self._asked = {**read}, {*asked}
        names: tuple[TreeName, ...] = (LIVE, DRAFT) if drafts else (LIVE,)
        self._trees = [TreeReader(tree_of(site_id, name), self._items, self._asked) for name in names]

    def places(self, page_ids: Sequence[str], hints: Iterable[str]) -> dict[str, str | None]:
        """Return those pages that there are, each with the path where it is published, or None.

        It takes a read, and another if some of them are below others than the `hints`.
        """
        if page_ids:
            self._look_at({*page_ids, *hints, *self._lineages(page_ids)})
            self._look_at({*self._lineages(page_ids)})
        for tree in self._trees:
            tree.load_ancestors([page_id for page_id in page_ids if tree.node(page_id)])
        paths = {page_id: self._path(page_id) for page_id in page_ids}
        return {page_id: path for page_id, path in paths.items() if path or self._chains(page_id)}

    def above(self, page_ids: Iterable[str]) -> list[str]:
        """Return which pages are above some whose places were looked for."""
        chains = (chain for page_id in page_ids for chain in self._chains(page_id))
        return sorted({str(node["id"]) for chain in chains for node in chain[:-1]})

    def _look_at(self, page_ids: Iterable[str]) -> None:
        """Read of the seats of pages, and of what is known of the trees as a whole, what was not looked at yet."""
        seats = {tree.tree.key(page_id) for tree in self._trees for page_id in page_ids}
        if unknown := sorted({*seats, *(tree.tree.state_key for tree in self._trees)} - self._asked):
            self._items |= table.get_all(unknown)
            self._asked |= {*unknown}

    def _lineages(self, page_ids: Iterable[str]) -> Iterator[str]:
        """Yield the pages above some, by what their seats say that were read."""
        nodes = (tree.node(page_id) for tree in self._trees for page_id in page_ids)
        yield from (above for node in nodes if node for above in node["lineage"])

    def _chains(self, page_id: str) -> list[list[Item]]:
        """Return the pages from the root to one, in each of the trees that it is in."""
        return [chain for tree in self._trees if (chain := tree.chain(page_id))]

    def _path(self, page_id: str) -> str | None:
        located = on_show(self._trees[0], page_id)
        return located.path if located else None

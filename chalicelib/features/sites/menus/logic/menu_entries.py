"""The items of menus with the current paths of their pages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, TreeName, page_tree
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.models import MAX_MENU_ITEMS, MenuLeafIn
from chalicelib.features.sites.pages.logic.page_queries import locate_published_page_or_none
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.trees.reading import TreeReader


@dataclass(frozen=True)
class MenuEntry:
    """An item of a menu as a page shows it. `href` is its target, or None for a group."""

    label: str
    href: str | None
    children: Sequence["MenuEntry"]


def load_public_menu_entries(menu: Menu, prefetched: Mapping[ItemKey, Item]) -> list[MenuEntry]:
    """Return the items of a menu as the public sees them, usually with one read. `prefetched` were read before."""
    resolved = load_with_page_paths(menu, include_drafts=False, prefetched=prefetched)
    return [*_build_menu_entries(resolved.without_unpublished().items)]


def _build_menu_entries(items: Iterable[Mapping[str, Any]]) -> Iterator[MenuEntry]:
    for item in items:
        yield MenuEntry(item["label"], item.get("path") or item["url"], [*_build_menu_entries(item["children"])])


class LinkedPages(Prefetched):
    """The states of both trees of pages, and the positions of the pages in the body."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the states and of the positions."""
        linked_ids = dict.fromkeys(_linked_page_ids(values.body_field_or_none("items") or ()))
        ids = [*islice(linked_ids, MAX_MENU_ITEMS)]
        trees = [page_tree(values.parameters["site_id"], name) for name in (PUBLISHED_TREE, DRAFT_TREE)]
        return [key for tree in trees for key in (tree.state_key, *map(tree.node_key, ids))]


def _linked_page_ids(items: Iterable[MenuLeafIn]) -> Iterator[str]:
    """Yield the ids of the pages to which items and their descendants link."""
    for item in items:
        yield from [item.page_id] if item.page_id else ()
        yield from _linked_page_ids(item.children)


def load_with_page_paths(menu: Menu, *, include_drafts: bool, prefetched: Mapping[ItemKey, Item]) -> Menu:
    """Return a menu with the paths of its pages. With `include_drafts`, unpublished pages count as existing."""
    pages = PagePathReader(menu.site_id, include_drafts=include_drafts, prefetched=prefetched, read_keys=prefetched)
    return menu.replace(page_paths=pages.load_published_paths_of_existing_pages(menu.page_ids, menu.ancestor_page_ids))


class PagePathReader:
    """Reads the paths of pages in the tree of published pages and, with `include_drafts`, in the tree of drafts.

    `read_keys` are the item keys that were read before, and `prefetched` the items that exist at them.
    """

    def __init__(
        self, site_id: str, *, include_drafts: bool, prefetched: Mapping[ItemKey, Item], read_keys: Iterable[ItemKey]
    ) -> None:
        self._items, self._read_keys = {**prefetched}, {*read_keys}
        names: tuple[TreeName, ...] = (PUBLISHED_TREE, DRAFT_TREE) if include_drafts else (PUBLISHED_TREE,)
        self._trees = [TreeReader(page_tree(site_id, name), self._items, self._read_keys) for name in names]

    def load_published_paths_of_existing_pages(
        self, page_ids: Sequence[str], likely_ancestor_ids: Iterable[str]
    ) -> dict[str, str | None]:
        """Return the existing pages, each with its published path or None.

        `likely_ancestor_ids` are the ids of pages that are probably ancestors. It takes one read, and a second if
        other pages are.
        """
        if page_ids:
            self._load_positions({*page_ids, *likely_ancestor_ids, *self._stored_ancestor_ids(page_ids)})
            self._load_positions({*self._stored_ancestor_ids(page_ids)})
        for tree in self._trees:
            tree.load_consistent_ancestors(
                [page_id for page_id in page_ids if tree.undeleted_read_node_or_none(page_id)]
            )
        paths = {page_id: self._published_path(page_id) for page_id in page_ids}
        return {page_id: path for page_id, path in paths.items() if path or self._breadcrumbs_in_each_tree(page_id)}

    def ancestor_ids(self, page_ids: Iterable[str]) -> list[str]:
        """Return the ids of the ancestors of pages whose paths were loaded."""
        chains = (chain for page_id in page_ids for chain in self._breadcrumbs_in_each_tree(page_id))
        return sorted({str(node["id"]) for chain in chains for node in chain[:-1]})

    def _load_positions(self, page_ids: Iterable[str]) -> None:
        """Read the positions of pages and the states of the trees, unless they were read before."""
        keys = {tree.tree.node_key(page_id) for tree in self._trees for page_id in page_ids}
        if unread_keys := sorted({*keys, *(tree.tree.state_key for tree in self._trees)} - self._read_keys):
            self._items |= table.get_all(unread_keys)
            self._read_keys |= {*unread_keys}

    def _stored_ancestor_ids(self, page_ids: Iterable[str]) -> Iterator[str]:
        """Yield the ids of the ancestors of pages, as stored in their positions."""
        nodes = (tree.undeleted_read_node_or_none(page_id) for tree in self._trees for page_id in page_ids)
        yield from (ancestor_id for node in nodes if node for ancestor_id in node["lineage"])

    def _breadcrumbs_in_each_tree(self, page_id: str) -> list[list[Item]]:
        """Return the breadcrumbs of a page in each tree that contains it."""
        return [chain for tree in self._trees if (chain := tree.nodes_from_root_or_none(page_id))]

    def _published_path(self, page_id: str) -> str | None:
        location = locate_published_page_or_none(self._trees[0], page_id)
        return location.path if location else None

"""Rules for the positions of pages, and the changes of both trees of a site in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, SiteTree, TreeName, page_tree
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter, former_slug_positions_key
from chalicelib.features.sites.pages.models.schemas import MAX_PAGE_DEPTH
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads
from chalicelib.kernel.storage.item_reads import perform_reads
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.trees.changes import DepthLimit, RecordUpdates

Breadcrumbs = Sequence[Mapping[str, Any]]


def _explain_excess_depth(height: int) -> str:
    below = f", and this page has {height} below it" if height else ""
    return f"is too deep: a site can have at most {MAX_PAGE_DEPTH} levels{below}"


DEPTH_LIMIT: Final = DepthLimit(MAX_PAGE_DEPTH, _explain_excess_depth)
"""The maximum depth of a page."""


class EditablePage(Page):
    """A page to be changed, moved, published or deleted, which is loaded with everything that this requires."""

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self | None]:
        """Request the blocks and ancestors of the page, and all items that a change of the page depends on."""
        return self.breadcrumb_reads(items, [self.content_key, *self._iter_ancestor_and_slug_index_keys(items)])

    def _iter_ancestor_and_slug_index_keys(self, items: Mapping[ItemKey, Item]) -> Iterator[ItemKey]:
        """Yield the keys of the slug index items, and of ancestors of the page and of the other pages in `items`."""
        drafts, published = (page_tree(self.site_id, name) for name in (DRAFT_TREE, PUBLISHED_TREE))
        other_pages = [item for item in items.values() if item.get("kind") == Page.kind and item["id"] != self.id]
        yield from (drafts.node_key(each) for other_page in other_pages for each in other_page["lineage"])
        yield from (published.node_key(each) for each in {*self.ancestor_ids, *self.published_ancestor_ids})
        yield from (
            self.make_item_key(site_id=self.site_id, id=each)
            for each in {self.parent_id, self.published_parent_id}
            if each
        )
        yield from (tree.slug_index_key(self.slug) for tree in (drafts, published))
        if self.published_slug:
            yield published.slug_index_key(self.published_slug)
            yield former_slug_positions_key(published, self.published_slug)


class PageTreeChanges:
    """Collects the changes of one of the trees of a site: those of its state and of its slug index."""

    def __init__(self, changes: UnitOfWork, site_id: str, name: TreeName, prefetched: Mapping[ItemKey, Item]) -> None:
        self.name, self.tree, self._changes = name, page_tree(site_id, name), changes
        self.original = self.state = SiteTree.from_item(prefetched[self.tree.state_key])
        self.slug_index = SlugIndexWriter(self.tree, prefetched)

    def set_fields(self, **fields: Any) -> None:
        """Set fields of the tree's state."""
        self.state = self._changes.update(self.state, touch=True, **fields)

    def set_home(self, page_id: str | None, **fields: Any) -> None:
        """Make another page, or none, the home page of the tree, and set other fields of the tree's state."""
        self.set_fields(**self.state.home_change_fields(page_id, self._changes.now), **fields)

    def record_move_and_return_version(self, page_id: str) -> int:
        """Record that a page moves in the tree, and return the next version of the tree."""
        version = self.original.version + 1
        self.set_fields(moved=self.state.recent_moves_after(version, [page_id]))
        return version

    def reject_excess_depth(self, page_id: str, ancestor_count: int, *, has_children: bool) -> None:
        """Raise ValidationProblem if a page, or its lowest descendant, would be too deep.

        `ancestor_count` is the number of its new ancestors. The tree is read only for a page with children, with one
        Query for each megabyte of positions.
        """
        height = DEPTH_LIMIT.read_height(self.tree, self.state.version, page_id) if has_children else 0
        DEPTH_LIMIT.reject_excess(ancestor_count, height)

    def slug_guard_key_of(self, page: Page) -> ItemKey:
        """Return the key of the item that reserves the slug of a page."""
        if self.name == DRAFT_TREE:
            return self.tree.slug_guard_key(page.parent_id, page.slug)
        return self.tree.slug_guard_key(page.published_parent_id, str(page.published_slug))


class SiteTreesUnitOfWork:
    """Collects the changes of both trees of a site, of their pages and of the slug index in one transaction.

    `prefetched` holds the states of both trees and the other items that were read, and is extended by further reads.
    """

    def __init__(self, changes: UnitOfWork, site_id: str, prefetched: Mapping[ItemKey, Item]) -> None:
        self.changes, self.site_id, self.items = changes, site_id, dict(prefetched)
        self.drafts = PageTreeChanges(changes, site_id, DRAFT_TREE, self.items)
        self.published = PageTreeChanges(changes, site_id, PUBLISHED_TREE, self.items)
        self._page_updates = RecordUpdates[Page](changes)
        self._has_content_changed = False

    def mark_content_changed(self) -> None:
        """Give the tree of published pages another `content_id` when the changes are written."""
        self._has_content_changed = True

    def remove_published_position(self, page: Page) -> None:
        """Remove the published position of a page, which becomes a former position."""
        self.mark_content_changed()
        self.published.slug_index.remove(page.published_position_item)
        self.published.slug_index.add_former_position(page.published_position_item, self.changes.now)
        self.add_to_child_counts(page.published_parent_id, published_child_count=-1)

    def add_home_child_path_clash_condition(
        self, tree: PageTreeChanges, page: Page, parent_id: str | None, slug: str
    ) -> None:
        """Make the transaction fail with `slug_taken` if another page has the path that a page gets in a tree.

        Children of the home page have paths of one segment, as roots do. The home page itself is at `/`.
        """
        home_id = tree.state.home_page_id
        if home_id is None or page.id == home_id or parent_id not in (None, home_id):
            return
        key = tree.tree.slug_guard_key(home_id if parent_id is None else None, slug)
        allowed = [page, self.find_page_with_changes(home_id)] if parent_id == home_id else [page]
        if key in [tree.slug_guard_key_of(each) for each in allowed if each]:
            return  # The slug belongs to the page itself, or to the home page, which is at `/`.
        location = "Below the home page" if parent_id is None else "Next to the home page"
        detail = f"{location} another page has the slug {slug!r}, and so the same path. Choose another."
        absence_check = Write(
            "ConditionCheck",
            key,
            condition="attribute_not_exists(#pk) OR #ref = :home",
            names=["pk", "ref"],
            values={"home": home_id},
        )
        self.changes.add_write(absence_check, Problem.create_with_field_error("/slug", "slug_taken", detail))

    def find_page_with_changes(self, page_id: str | None) -> Page | None:
        """Return a page with the changes so far, read if necessary; None if it does not exist."""
        key = Page.make_item_key(site_id=self.site_id, id=str(page_id))
        if page_id and key not in self.items:
            self.items |= table.get_all([key])
        return self._page_updates.with_changes(Page.from_item(self.items[key])) if key in self.items else None

    def load_with_breadcrumbs_or_none(self, page: Page, *, with_blocks: bool = False) -> Page | None:
        """Return a page with its breadcrumbs and, if requested, its blocks; None if an ancestor is deleted."""
        reads = page.hydration_reads(self.items) if with_blocks else page.breadcrumb_reads(self.items)
        items, hydrated_page = perform_reads(reads, self.items)
        for key in self.items.keys() - items.keys():
            del self.items[key]
        self.items.update(items)
        return hydrated_page

    def set_page_fields(self, page_id: str | None, **fields: Any) -> None:
        """Set fields of a page, if it exists."""
        if page := self.find_page_with_changes(page_id):
            self._page_updates.set_fields(page, **fields)

    def add_to_child_counts(self, page_id: str | None, **delta: int) -> None:
        """Add to the `child_count` or `published_child_count` of a page, if it exists."""
        if page := self.find_page_with_changes(page_id):
            self.set_page_fields(page_id, **{name: getattr(page, name) + number for name, number in delta.items()})

    def add_changes_to_unit_of_work(self) -> None:
        """Add all changes to the unit of work. The commit requires that a tree without changes is unchanged."""
        if self._has_content_changed:
            self._change_content_id()
        self._page_updates.add_to_unit_of_work()
        for tree in (self.drafts, self.published):
            if tree.state is tree.original and tree.slug_index:
                self.changes.require_unchanged(tree.original)
            for write in tree.slug_index.build_writes():
                self.changes.add_write(write)

    def _change_content_id(self) -> None:
        # The version is kept if possible, so that concurrent publications do not conflict.
        tree = self.published
        change = self.changes.update_untracked if tree.state is tree.original else self.changes.update
        tree.state = change(tree.state, content_id=new_id(self.changes.now))


def breadcrumb_ids(breadcrumbs: Breadcrumbs) -> list[str]:
    """Return the ids in breadcrumbs."""
    return [str(each["id"]) for each in breadcrumbs]

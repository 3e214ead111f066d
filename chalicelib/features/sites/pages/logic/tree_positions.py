"""Rules for the positions of pages, and the changes of both trees of a site in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, SiteTree, TreeName, page_tree_partition
from chalicelib.features.sites.pages.entities.pages import Content, Page, slug_guard_key
from chalicelib.features.sites.pages.entities.slug_index import (
    SlugIndexWriter,
    former_slug_positions_key,
    slug_positions_key,
)
from chalicelib.features.sites.pages.models.schemas import MAX_PAGE_DEPTH
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, ItemReads
from chalicelib.kernel.storage.item_reads import perform_reads
from chalicelib.kernel.storage.trees import TreePartition, read_consistent_tree_into_reader, with_moves_recorded
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

Breadcrumbs = Sequence[Mapping[str, Any]]


class EditablePage(Page):
    """A page to be changed, moved, published or deleted, which is loaded with everything that this requires."""

    def related_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads:
        """Request the blocks and ancestors of the page, and all items that a change of the page depends on."""
        content = Content.make_item_key(page_id=self.id, id=self.draft_revision_id)
        yield from self.breadcrumb_reads(items, [content, *self._iter_ancestor_and_slug_index_keys(items)])

    def _iter_ancestor_and_slug_index_keys(self, items: Mapping[ItemKey, Item]) -> Iterator[ItemKey]:
        """Yield the keys of the slug index items, and of ancestors of the page and of the other pages in `items`."""
        drafts, published = (
            page_tree_partition(self.site_id, DRAFT_TREE),
            page_tree_partition(self.site_id, PUBLISHED_TREE),
        )
        other_pages = [item for item in items.values() if item.get("kind") == Page.kind and item["id"] != self.id]
        yield from (drafts.node_key(each) for other_page in other_pages for each in other_page["lineage"])
        yield from (published.node_key(each) for each in {*self.ancestor_ids, *self.published_ancestor_ids})
        yield from (
            self.make_item_key(site_id=self.site_id, id=each)
            for each in {self.parent_id, self.published_parent_id}
            if each
        )
        yield from (slug_positions_key(tree, self.slug) for tree in (drafts, published))
        if self.published_slug:
            yield from (key(published, self.published_slug) for key in (slug_positions_key, former_slug_positions_key))


def reject_cycle(page_id: str, ancestors: Breadcrumbs, advice: str) -> None:
    """Raise Problem `cycle` if a page would be below itself."""
    if any(each["id"] == page_id for each in ancestors):
        raise Problem.create_with_field_error("/parentId", "cycle", f"The page would be below itself. {advice}")


def reject_excess_depth(site_id: str, tree: SiteTree, page_id: str, ancestor_count: int, *, has_children: bool) -> None:
    """Raise ValidationProblem if a page, or its lowest descendant, would be too deep.

    `ancestor_count` is the number of its new ancestors. The tree is read only for a page with children, with one Query
    for each megabyte of positions.
    """
    height = _subtree_height(site_id, tree, page_id) if has_children else 0
    if ancestor_count + 1 + height > MAX_PAGE_DEPTH:
        explanation = f", and this page has {height} below it" if height else ""
        detail = f"is too deep: a site can have at most {MAX_PAGE_DEPTH} levels{explanation}"
        raise ValidationProblem([FieldError("/parentId", "too_deep", detail)])


def _subtree_height(site_id: str, tree: SiteTree, page_id: str) -> int:
    children: dict[str, list[str]] = {}
    for item in read_consistent_tree_into_reader(page_tree_partition(site_id, tree.tree), tree.version).items.values():
        if item.get("parent_id"):
            children.setdefault(item["parent_id"], []).append(item["id"])
    level, height = children.get(page_id, []), 0
    while level and height < MAX_PAGE_DEPTH:
        level, height = [child for each in level for child in children.get(each, [])], height + 1
    return height


def add_home_child_path_clash_condition(
    trees: "SiteTreesUnitOfWork", tree_name: TreeName, page: Page, parent_id: str | None, slug: str
) -> None:
    """Make the transaction fail with `slug_taken` if another page has the path that a page gets.

    Children of the home page have paths of one segment, as roots do. The home page itself is at `/`.
    """
    home_id = trees.tree_state_with_changes(tree_name).home_page_id
    if home_id is None or page.id == home_id or parent_id not in (None, home_id):
        return
    key = slug_guard_key(trees.site_id, tree_name, home_id if parent_id is None else None, slug)
    allowed = [page, trees.find_page_with_changes(home_id)] if parent_id == home_id else [page]
    if key in [_current_slug_guard_key(tree_name, each) for each in allowed if each]:
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
    trees.changes.add_write(absence_check, Problem.create_with_field_error("/slug", "slug_taken", detail))


def _current_slug_guard_key(tree_name: TreeName, page: Page) -> ItemKey:
    position = (
        (page.parent_id, page.slug) if tree_name == DRAFT_TREE else (page.published_parent_id, str(page.published_slug))
    )
    return slug_guard_key(page.site_id, tree_name, *position)


class SiteTreesUnitOfWork:
    """Collects the changes of both trees of a site, of their pages and of the slug index in one transaction.

    `prefetched` holds the states of both trees and the other items that were read, and is extended by further reads.
    """

    def __init__(self, changes: UnitOfWork, site_id: str, prefetched: Mapping[ItemKey, Item]) -> None:
        self.changes, self.site_id, self.items = changes, site_id, dict(prefetched)
        self._original = {
            name: SiteTree.from_item(self.items[self.tree_partition(name).state_key])
            for name in (DRAFT_TREE, PUBLISHED_TREE)
        }
        self._current = {**self._original}
        self._slug_indexes = {
            name: SlugIndexWriter(self.tree_partition(name), self.items) for name in (DRAFT_TREE, PUBLISHED_TREE)
        }
        self._pages: dict[str, tuple[Page, dict[str, Any]]] = {}
        self._has_content_changed = False

    def tree_partition(self, tree_name: TreeName) -> TreePartition:
        """Return one of the trees."""
        return page_tree_partition(self.site_id, tree_name)

    def tree_state_with_changes(self, tree_name: TreeName) -> SiteTree:
        """Return the state of a tree with the changes so far."""
        return self._current[tree_name]

    def record_move_and_return_version(self, tree_name: TreeName, page_id: str) -> int:
        """Record that a page moves in a tree, and return the next version of the tree."""
        version = self._original[tree_name].version + 1
        self.set_fields(tree_name, moved=with_moves_recorded(self._current[tree_name].moved, version, [page_id]))
        return version

    def mark_content_changed(self) -> None:
        """Give the tree of published pages another `content_id` when the changes are written."""
        self._has_content_changed = True

    def remove_published_position(self, page: Page, timestamp: str) -> None:
        """Remove the published position of a page, which becomes a former position."""
        self.mark_content_changed()
        self._slug_indexes[PUBLISHED_TREE].remove(page.published_position_item)
        self._slug_indexes[PUBLISHED_TREE].add_former_position(page.published_position_item, timestamp)
        self.add_to_child_counts(page.published_parent_id, published_child_count=-1)

    def slug_index(self, tree_name: TreeName) -> SlugIndexWriter:
        """Return the changes of a tree's slug index."""
        return self._slug_indexes[tree_name]

    def set_fields(self, tree_name: TreeName, **fields: Any) -> None:
        """Set fields of a tree's state."""
        self._current[tree_name] = self.changes.update(self._current[tree_name], touch=True, **fields)

    def find_page_with_changes(self, page_id: str | None) -> Page | None:
        """Return a page with the changes so far, read if necessary; None if it does not exist."""
        key = Page.make_item_key(site_id=self.site_id, id=str(page_id))
        if page_id and key not in self.items:
            self.items |= table.get_all([key])
        if not page_id or key not in self.items:
            return None
        page, fields = self._pages.get(page_id, (Page.from_item(self.items[key]), {}))
        return page.replace(**fields)

    def load_with_breadcrumbs_or_none(self, page: Page, *, with_blocks: bool = False) -> Page | None:
        """Return a page with its breadcrumbs and, if requested, its blocks; None if an ancestor is deleted."""
        reads = page.related_reads(self.items) if with_blocks else page.breadcrumb_reads(self.items)
        items = perform_reads(reads, self.items)
        for key in self.items.keys() - items.keys():
            del self.items[key]
        self.items.update(items)
        return page.with_computed_fields_or_none(self.items)

    def set_page_fields(self, page_id: str | None, **fields: Any) -> None:
        """Set fields of a page, if it exists."""
        if page := self.find_page_with_changes(page_id):
            original, earlier_fields = self._pages.get(page.id, (page, {}))
            self._pages[page.id] = original, {**earlier_fields, **fields}

    def add_to_child_counts(self, page_id: str | None, **delta: int) -> None:
        """Add to the `child_count` or `published_child_count` of a page, if it exists."""
        if page := self.find_page_with_changes(page_id):
            self.set_page_fields(page_id, **{name: getattr(page, name) + number for name, number in delta.items()})

    def add_changes_to_unit_of_work(self) -> None:
        """Add all changes to the unit of work. The commit requires that a tree without changes is unchanged."""
        if self._has_content_changed:
            self._change_content_id(self._current[PUBLISHED_TREE])
        for page, fields in self._pages.values():
            self.changes.update_untracked(page, **fields)
        for name, index in self._slug_indexes.items():
            if self._current[name] is self._original[name] and index:
                self.changes.require_unchanged(self._original[name])
            for write in index.build_writes():
                self.changes.add_write(write)

    def _change_content_id(self, state: SiteTree) -> None:
        # The version is kept if possible, so that concurrent publications do not conflict.
        change = self.changes.update_untracked if state is self._original[PUBLISHED_TREE] else self.changes.update
        self._current[PUBLISHED_TREE] = change(state, content_id=new_id(self.changes.now))


def breadcrumb_ids(breadcrumbs: Breadcrumbs) -> list[str]:
    """Return the ids in breadcrumbs."""
    return [str(each["id"]) for each in breadcrumbs]

"""Find pages by current and former paths, load their revisions, and list them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, TreeName, page_tree
from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from chalicelib.features.sites.pages.logic.path_resolution import (
    Breadcrumbs,
    PagePathResolver,
    tree_state_and_slug_index_keys,
)
from chalicelib.features.sites.pages.models.paths import path_of_breadcrumbs, slugs_if_page_path
from chalicelib.features.sites.pages.models.schemas import PageOut, PagesQuery, PageSummary
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.operations.results import ListPage as PageOfList
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_names_starting_with
from chalicelib.kernel.trees.reading import TreeReader

_MAX_CANDIDATES: Final = 25


@dataclass(frozen=True)
class PageLocation:
    """A page in a tree. `breadcrumbs` are the positions from a root of the tree to the page."""

    page_id: str
    revision_id: str | None
    breadcrumbs: Breadcrumbs
    home_id: str | None

    @property
    def path(self) -> str:
        """The path of the page."""
        return path_of_breadcrumbs(self.breadcrumbs, self.home_id)

    @property
    def path_acquired_at(self) -> str:
        """The time since when the page has had its path: when the last of its breadcrumbs got its position."""
        return max(str(page.get("since") or "") for page in self.breadcrumbs)


def path_keys(site_id: str, path: str, *, draft: bool = False) -> list[ItemKey]:
    """Return the item keys that `locate_by_path_or_none` needs."""
    return tree_state_and_slug_index_keys(
        page_tree(site_id, DRAFT_TREE if draft else PUBLISHED_TREE), slugs_if_page_path(path)
    )


def locate_by_path_or_none(
    site_id: str, path: str, prefetched: dict[ItemKey, Item], *, draft: bool = False
) -> PageLocation | None:
    """Return the page at a path, among the drafts or the published pages. `prefetched` are at `path_keys`."""
    resolver = _path_resolver_or_none(site_id, path, prefetched, DRAFT_TREE if draft else PUBLISHED_TREE)
    breadcrumbs = resolver.resolve_current_breadcrumbs_or_none() if resolver else None
    if resolver is None or breadcrumbs is None or not (draft or breadcrumbs[-1].get("revision_id")):
        return None
    return PageLocation(breadcrumbs[-1]["id"], breadcrumbs[-1].get("revision_id"), breadcrumbs, resolver.home_id)


def locate_by_former_path_or_none(site_id: str, path: str, prefetched: dict[ItemKey, Item]) -> PageLocation | None:
    """Return the current location of the published page that had a path before, or None.

    `prefetched` are at `path_keys`.
    """
    resolver = _path_resolver_or_none(site_id, path, prefetched, PUBLISHED_TREE)
    if resolver is None:
        return None
    for page_id in islice(resolver.iter_possible_former_page_ids(), _MAX_CANDIDATES):
        resolver.reader.load_consistent_ancestors([page_id])
        location = locate_published_page_or_none(resolver.reader, page_id)
        if location and location.path != path:
            return location
    return None


def _path_resolver_or_none(
    site_id: str, path: str, prefetched: dict[ItemKey, Item], tree_name: TreeName
) -> PagePathResolver | None:
    slugs = slugs_if_page_path(path)
    if slugs is None:
        return None
    return PagePathResolver(TreeReader.from_items(page_tree(site_id, tree_name), prefetched), slugs)


def locate_page_in_tree_or_none(reader: TreeReader, page_id: str) -> PageLocation | None:
    """Return the location of a page in a tree that was read; None if the page or an ancestor is deleted."""
    breadcrumbs = reader.nodes_from_root_or_none(page_id)
    if breadcrumbs is None:
        return None
    return PageLocation(page_id, breadcrumbs[-1].get("revision_id"), tuple(breadcrumbs), reader.state.get("home"))


def locate_published_page_or_none(reader: TreeReader, page_id: str) -> PageLocation | None:
    """Return the location of a published page in the tree of published pages; None if it is not published."""
    location = locate_page_in_tree_or_none(reader, page_id)
    return location if location and location.revision_id else None


def load_published_page_or_none(site_id: str, location: PageLocation, *, with_blocks: bool = True) -> Page | None:
    """Return a page with its published revision, with or without blocks; None if it is deleted. Takes one read."""
    page_key = Page.make_item_key(site_id=site_id, id=location.page_id)
    ids = {"page_id": location.page_id, "id": str(location.revision_id)}
    content = [Content.make_item_key(**ids)] if with_blocks else []
    items = table.get_all([page_key, Revision.make_item_key(**ids), *content])
    item, revision = items.get(page_key), items.get(Revision.make_item_key(**ids))
    if item is None or revision is None:
        return None
    loaded_revision = Revision.from_item(revision).with_blocks(items)
    return Page.from_item(item).replace(
        **loaded_revision.page_fields, breadcrumbs=location.breadcrumbs, draft_home_id=location.home_id
    )


def load_draft_page_or_none(site_id: str, location: PageLocation, *, with_blocks: bool = True) -> Page | None:
    """Return a page with its draft, with or without blocks; None if it is deleted."""
    item = table.get(Page.make_item_key(site_id=site_id, id=location.page_id))
    page = Page.from_item(item) if item else None
    if page is None:
        return None
    content = table.get(Content.make_item_key(page_id=page.id, id=page.draft_revision_id)) if with_blocks else None
    if with_blocks and content is None:
        return None
    loaded_blocks = Content.from_item(content).blocks if content else ()
    return page.replace(blocks=loaded_blocks, breadcrumbs=location.breadcrumbs, draft_home_id=location.home_id)


def page_to_public_output(page: Page) -> PageOut:
    """Return a published page as the public sees it, without anything about its draft."""
    return PageOut.of(
        page,
        draft_revision_id=None,
        has_unpublished_changes=False,
        publish_at=None,
        unpublish_at=None,
        updated_at=page.published_at,
        version=page.published_version,
    )


def list_pages(
    ctx: Context, site_id: str, query: PagesQuery, prefetched: Mapping[ItemKey, Item]
) -> PageOfList[PageSummary]:
    """Return a page of a site's pages with their drafts, in order of creation or, with `q`, by title.

    One Query reads the index of the first filter given: title, parent, status. Pages that fail the other filters are
    omitted. A second read loads the ancestors.
    """
    after, key_values = (
        ctx.decode_cursor(query),
        {"site_id": site_id, "parent_id": query.parent_id, "status": query.status},
    )
    if query.q:
        prefix = key_prefix_of_names_starting_with("", fold_case_accents_and_spaces(query.q))
        result = table.query(f"W#{site_id}#Q", prefix=prefix, after=after, limit=query.limit)
        keys = [Page.make_item_key(site_id=site_id, id=row["page_id"]) for row in result.items]
        items = table.get_all(keys)
        pages = [Page.from_item(items[key]) for key in keys if key in items]
    else:
        collection = Page.by_parent if query.parent_id else Page.by_status if query.status else Page.in_site
        result = table.query(
            collection.partition(**key_values), after=after, limit=query.limit, prefix=Page.sk.partition("{")[0]
        )
        pages = [Page.from_item(item) for item in result.items]
    summaries = [
        PageSummary.of(page)
        for page in load_pages_with_breadcrumbs(site_id, pages, prefetched)
        if _matches_query(page, query)
    ]
    return ctx.build_page(summaries, result.last_evaluated_key, query)


def load_pages_with_breadcrumbs(site_id: str, pages: Iterable[Page], prefetched: Mapping[ItemKey, Item]) -> list[Page]:
    """Return pages with their breadcrumbs, without their blocks. Pages with a missing ancestor are omitted."""
    page_list = [*pages]
    reader = TreeReader.from_items(page_tree(site_id, DRAFT_TREE), dict(prefetched))
    reader.add_items(page.draft_position_item for page in page_list)
    reader.load_unread(reader.tree.node_key(each) for page in page_list for each in page.ancestor_ids)
    reader.load_consistent_ancestors([page.id for page in page_list])
    return [*filter(None, (page.with_breadcrumbs_or_none(reader) for page in page_list))]


def _matches_query(page: Page, query: PagesQuery) -> bool:
    has_prefix = query.q is None or fold_case_accents_and_spaces(page.title).startswith(
        fold_case_accents_and_spaces(query.q)
    )
    return has_prefix and query.status in (None, page.status) and query.parent_id in (None, page.parent_id)

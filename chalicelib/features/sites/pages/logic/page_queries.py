"""Pages as they are read: at a path, by what they are called, a page of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from chalicelib.features.sites.entities.sites import DRAFT, LIVE, tree_of
from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from chalicelib.features.sites.pages.logic.path_resolution import Line, Walk, signposts
from chalicelib.features.sites.pages.models.paths import path_along, slugs_of
from chalicelib.features.sites.pages.models.schemas import PageOut, PagesQuery, PageSummary
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import fold_text
from chalicelib.kernel.operations.results import ListPage as PageOfList
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import prefix_key
from chalicelib.kernel.storage.trees import TreeReader

_MOST_CANDIDATES: Final = 25


@dataclass(frozen=True)
class Located:
    """A page that a path leads to. `line`: the pages from the root of its tree to it."""

    page_id: str
    revision_id: str | None
    line: Line
    home: str | None

    @property
    def path(self) -> str:
        """Where it is."""
        return path_along(self.line, self.home)

    @property
    def since(self) -> str:
        """When the last of these pages came to its place: since then it has its path."""
        return max(str(page.get("since") or "") for page in self.line)


def leading_to(site_id: str, path: str, *, draft: bool = False) -> list[ItemKey]:
    """Return where it stands which page is at a path; `at` is done with what is read there."""
    return signposts(tree_of(site_id, DRAFT if draft else LIVE), slugs_of(path))


def at(site_id: str, path: str, read: dict[ItemKey, Item], *, draft: bool = False) -> Located | None:
    """Return the page at a path: of the drafts, or of what is published. `read`: what `leading_to` leads to."""
    slugs = slugs_of(path)
    if slugs is None:
        return None
    walk = Walk(site_id, tree_of(site_id, DRAFT if draft else LIVE), slugs, read)
    line = walk.here()
    if line is None or not (draft or line[-1].get("revision_id")):
        return None
    return Located(line[-1]["id"], line[-1].get("revision_id"), line, walk.home)


def moved_from(site_id: str, path: str, read: dict[ItemKey, Item]) -> Located | None:
    """Return the published page that was at a path once, where it is now. `read`: what `leading_to` leads to."""
    slugs = slugs_of(path)
    if slugs is None:
        return None
    tree = tree_of(site_id, LIVE)
    walk, reading = Walk(site_id, tree, slugs, read), TreeReader.of(tree, read)
    for number, page_id in enumerate(walk.formerly()):
        if number >= _MOST_CANDIDATES:
            break
        reading.load_ancestors([page_id])
        located = on_show(reading, page_id)
        if located and located.path != path:
            return located
    return None


def seated(reading: TreeReader, page_id: str) -> Located | None:
    """Return where a page is in a tree, of whose seats it was read where they are; None if it or one above is gone."""
    line = reading.chain(page_id)
    if line is None:
        return None
    return Located(page_id, line[-1].get("revision_id"), tuple(line), reading.state.get("home"))


def on_show(reading: TreeReader, page_id: str) -> Located | None:
    """Return where a page is published, of the tree of what is; None if it is taken back, or gone, or one above it."""
    located = seated(reading, page_id)
    return located if located and located.revision_id else None


def published(site_id: str, located: Located, *, blocks: bool = True) -> Page | None:
    """Return a page as it is published, with its blocks or without; None if it is gone meanwhile. It takes one read."""
    page_key = Page.make_item_key(site_id=site_id, id=located.page_id)
    names = {"page_id": located.page_id, "id": str(located.revision_id)}
    content = [Content.make_item_key(**names)] if blocks else []
    read = table.get_all([page_key, Revision.make_item_key(**names), *content])
    item, revision = read.get(page_key), read.get(Revision.make_item_key(**names))
    if item is None or revision is None:
        return None
    found = Revision.from_item(revision).hydrate(read)
    return Page.from_item(item).replace(**found.domain_fields, line=located.line, home=located.home)


def drafted(site_id: str, located: Located, *, blocks: bool = True) -> Page | None:
    """Return a page as its draft is, with its blocks or without; None if it is gone meanwhile."""
    item = table.get(Page.make_item_key(site_id=site_id, id=located.page_id))
    page = Page.from_item(item) if item else None
    if page is None:
        return None
    content = table.get(Content.make_item_key(page_id=page.id, id=page.draft_revision_id)) if blocks else None
    if blocks and content is None:
        return None
    shown = Content.from_item(content).blocks if content else ()
    return page.replace(blocks=shown, line=located.line, home=located.home)


def to_public(page: Page) -> PageOut:
    """Return a page that `published` returned as everybody sees it: nothing tells of its draft."""
    return PageOut.of(
        page,
        draft_revision_id=None,
        has_unpublished_changes=False,
        publish_at=None,
        unpublish_at=None,
        updated_at=page.published_at,
        version=page.live_version,
    )


def list_pages(ctx: Context, site_id: str, query: PagesQuery) -> PageOfList[PageSummary]:
    """Return a page of a site's pages as their drafts are, in the order they were created, or with `q` by title.

    That is one Query of the index of the first filter there is of: title, parent, status. What does not pass the others
    is left out. The pages above are read after it.
    """
    after, names = ctx.decode_cursor(query), {"site_id": site_id, "parent_id": query.parent_id, "status": query.status}
    if query.q:
        begins = prefix_key("", fold_text(query.q))
        found = table.query(f"W#{site_id}#Q", prefix=begins, after=after, limit=query.limit)
        read = table.get_all(Page.make_item_key(site_id=site_id, id=row["page_id"]) for row in found.items)
        keys = (Page.make_item_key(site_id=site_id, id=row["page_id"]) for row in found.items)
        pages = [Page.from_item(read[key]) for key in keys if key in read]
    else:
        filtered = Page.below if query.parent_id else Page.by_status if query.status else Page.in_site
        found = table.query(
            filtered.partition(**names), after=after, limit=query.limit, prefix=Page.sk.partition("{")[0]
        )
        pages = [Page.from_item(item) for item in found.items]
    shown = [PageSummary.of(page) for page in in_place(site_id, pages, ctx.access.prefetched) if _passes(page, query)]
    return ctx.build_page(shown, found.last_evaluated_key, query)


def in_place(site_id: str, pages: Iterable[Page], read: Mapping[ItemKey, Item]) -> list[Page]:
    """Return pages with those above them, without their blocks; those of which one above is gone are left out."""
    found = [*pages]
    reading = TreeReader.of(tree_of(site_id, DRAFT), dict(read))
    reading.add_items(page.seat for page in found)
    if above := {reading.tree.key(each) for page in found for each in page.lineage} - reading.asked:
        reading.read(above)
    reading.load_ancestors([page.id for page in found])
    lines = ((page, reading.chain(page.id)) for page in found)
    return [page.replace(line=tuple(line), home=reading.state.get("home")) for page, line in lines if line]


def _passes(page: Page, query: PagesQuery) -> bool:
    title = query.q is None or fold_text(page.title).startswith(fold_text(query.q))
    return title and query.status in (None, page.status) and query.parent_id in (None, page.parent_id)

"""The page that a preview shows: one of its revisions, where that would be."""

from collections.abc import Mapping

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from chalicelib.features.sites.pages.logic.page_queries import in_place
from chalicelib.features.sites.previews.logic.preview_tokens import Claim
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey


def keys_of(page_id: str, revision_id: str) -> list[ItemKey]:
    """Return where a revision stands, and what it consists of."""
    names = {"page_id": page_id, "id": revision_id}
    return [Revision.make_item_key(**names), Content.make_item_key(**names)]


def revision_in(read: dict[ItemKey, Item], page_id: str, revision_id: str) -> Revision | None:
    """Return a revision with its blocks, which was read."""
    item = read.get(Revision.make_item_key(page_id=page_id, id=revision_id))
    return Revision.from_item(item).hydrate(read) if item else None


def as_it_was(page: Page, revision: Revision, read: Mapping[ItemKey, Item]) -> Page:
    """Return a page, found in its place, as one of its revisions has it: its path too."""
    above = page.line[:-1]
    if revision.parent_id != page.parent_id:
        item = (
            table.get(Page.make_item_key(site_id=page.site_id, id=revision.parent_id)) if revision.parent_id else None
        )
        parents = in_place(page.site_id, [Page.from_item(item)], read) if item else []
        above = parents[0].line if parents else ()
    return page.replace(**revision.domain_fields, line=(*above, {"id": page.id, "slug": revision.slug}))


def claimed_page(claim: Claim, site: Site, read: dict[ItemKey, Item]) -> Page | None:
    """Return the page that a link leads to, if it holds still; `read` holds the page and both trees, if they are there.

    It takes two reads, whatever it comes to.
    """
    maker = claim.maker_key(site.organization_id)
    found = read | table.get_all([maker, *keys_of(claim.page_id, claim.revision_id)])
    item = found.get(Page.make_item_key(site_id=site.id, id=claim.page_id))
    revision = revision_in(found, claim.page_id, claim.revision_id)
    if item is None or revision is None or not claim.is_vouched_for(found.get(maker)):
        return None
    pages = in_place(site.id, [Page.from_item(item)], found)
    return as_it_was(pages[0], revision, found) if pages and pages[0].epoch == claim.epoch else None

"""Pages as of one of their revisions, at the path that the revision has among the drafts."""

from collections.abc import Mapping

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from chalicelib.features.sites.pages.logic.page_queries import load_pages_with_breadcrumbs
from chalicelib.features.sites.previews.logic.preview_tokens import PreviewClaim
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey


def revision_and_content_keys(page_id: str, revision_id: str) -> list[ItemKey]:
    """Return the item keys of a revision and its content."""
    ids = {"page_id": page_id, "id": revision_id}
    return [Revision.make_item_key(**ids), Content.make_item_key(**ids)]


def parse_revision_with_blocks_or_none(
    items: Mapping[ItemKey, Item], page_id: str, revision_id: str
) -> Revision | None:
    """Return a revision with its blocks from the items that were read, or None."""
    item = items.get(Revision.make_item_key(page_id=page_id, id=revision_id))
    return Revision.from_item(item).with_blocks(items) if item else None


def load_page_as_of_revision(page: Page, revision: Revision, prefetched: Mapping[ItemKey, Item]) -> Page:
    """Return a page with the fields and the path of one of its revisions."""
    ancestors = page.breadcrumbs[:-1]
    if revision.parent_id != page.parent_id:
        item = (
            table.get(Page.make_item_key(site_id=page.site_id, id=revision.parent_id)) if revision.parent_id else None
        )
        parents = load_pages_with_breadcrumbs(page.site_id, [Page.from_item(item)], prefetched) if item else []
        ancestors = parents[0].breadcrumbs if parents else ()
    return page.replace(**revision.page_fields, breadcrumbs=(*ancestors, {"id": page.id, "slug": revision.slug}))


def load_previewed_page_or_none(claim: PreviewClaim, site: Site, prefetched: Mapping[ItemKey, Item]) -> Page | None:
    """Return the page of a preview link, or None if the link is invalid.

    `prefetched`: the page and the states of both trees. It takes two reads, whatever the result.
    """
    issuer_key = claim.issuer_item_key(site.organization_id)
    keys = [issuer_key, *revision_and_content_keys(claim.page_id, claim.revision_id)]
    loaded = {**prefetched, **table.get_all(keys)}
    item = loaded.get(Page.make_item_key(site_id=site.id, id=claim.page_id))
    revision = parse_revision_with_blocks_or_none(loaded, claim.page_id, claim.revision_id)
    if item is None or revision is None or not claim.is_issuer_valid(loaded.get(issuer_key)):
        return None
    pages = load_pages_with_breadcrumbs(site.id, [Page.from_item(item)], loaded)
    return (
        load_page_as_of_revision(pages[0], revision, loaded)
        if pages and pages[0].preview_epoch == claim.epoch
        else None
    )

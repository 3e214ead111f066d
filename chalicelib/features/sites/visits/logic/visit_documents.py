"""What the host of a site sends to browsers and crawlers: pages, redirects, robots.txt, sitemaps, and a 404 page."""

from collections.abc import Mapping
from typing import Final

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.models.url_paths import to_comparable_path
from chalicelib.features.sites.pages.logic.page_queries import load_published_page_or_none
from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import Blocks, View
from chalicelib.features.sites.visits.logic.page_view import render_page
from chalicelib.features.sites.visits.logic.robots import ROBOTS_PATH, build_robots_txt
from chalicelib.features.sites.visits.logic.sitemaps import SITEMAP_PATH, load_or_build_sitemap_xml_or_none
from chalicelib.features.sites.visits.logic.visit_resolution import Visit
from chalicelib.features.sites.visits.models import ResolveQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ErrorDocument, RawResponse, Redirect
from chalicelib.kernel.storage.entity import Item, ItemKey

CACHE_FIVE_MINUTES: Final = {"Cache-Control": "public, max-age=300"}

_NOT_FOUND_HTML: Final = "<p>There is no page at this address. It may have moved, or the link may be wrong.</p>"


def visit_document(
    ctx: Context, query: ResolveQuery, visit: Visit | None, items: dict[ItemKey, Item]
) -> RawResponse | Redirect:
    """Return what the host of a visit would send. `visit` is None if no public site has the host.

    All such hosts get equal responses, so a visitor cannot tell an unpublished site from an unused host. `items` are
    those that the visit was resolved with.
    """
    path = to_comparable_path(query.path)
    if visit and visit.redirect:
        return Redirect(visit.redirect.location, visit.redirect.status_code, is_of_other_host=True)
    if path == ROBOTS_PATH:
        return robots_document(ctx, visit.site if visit else None)
    if visit is None:
        return _not_found_document(ctx, None)
    if path == SITEMAP_PATH:
        return sitemap_document_or_none(ctx, visit.site, query.page, items) or _not_found_document(ctx, visit.site)
    page = load_published_page_or_none(visit.site.id, visit.page, with_blocks=False) if visit.page else None
    if page is None or visit.page is None:
        return _not_found_document(ctx, visit.site)
    return render_page(ctx, visit.site, page, visit.page.revision_id, items)


def robots_document(ctx: Context, site: Site | None) -> RawResponse:
    """Return the robots.txt of a site, or of a host without a public site."""
    return RawResponse(build_robots_txt(site), "text/plain; charset=utf-8", ctx.headers | CACHE_FIVE_MINUTES)


def sitemap_document_or_none(
    ctx: Context, site: Site, part_number: int | None, items: Mapping[ItemKey, Item]
) -> RawResponse | None:
    """Return the sitemap of a site or a part of it, or None. An unpublished site has none."""
    text = load_or_build_sitemap_xml_or_none(site, part_number, items) if site.is_published else None
    return None if text is None else RawResponse(text, "application/xml", ctx.headers | CACHE_FIVE_MINUTES)


def _not_found_document(ctx: Context, site: Site | None) -> ErrorDocument:
    """Return a page in English that says that there is none. Of a public site, it shows the name and a link to `/`."""
    view = View(
        lang="en",
        title="Page not found",
        site_name=site.name if site else "",
        noindex=True,
        blocks=Blocks("", lambda: _NOT_FOUND_HTML),
    )
    document = render_document(view, ctx.headers)
    return ErrorDocument(document.body, document.content_type, document.headers)

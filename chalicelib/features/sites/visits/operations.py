"""HTTP operations for visitors: the content at a host and path, pages, the home page, robots.txt and the sitemap."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final
from urllib.parse import urlencode

from chalicelib.features.sites.entities.sites import Site, require_site_organization_role
from chalicelib.features.sites.logic import load_sites_with_domains
from chalicelib.features.sites.models.redirect_targets import to_location
from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.models.url_paths import to_comparable_path, to_decoded_clean_path
from chalicelib.features.sites.pages.logic.page_queries import (
    PageLocation,
    load_draft_page_or_none,
    load_published_page_or_none,
    locate_by_path_or_none,
    page_to_public_output,
    path_keys,
)
from chalicelib.features.sites.pages.models.schemas import DraftQuery, PageOut, PathQuery
from chalicelib.features.sites.redirects.logic.resolution import (
    RedirectTarget,
    resolution_keys,
    resolve_to_page_or_redirect,
)
from chalicelib.features.sites.visits.logic.page_view import VARY_BY_ACCEPT, render_page, wants_html
from chalicelib.features.sites.visits.logic.sitemaps import sitemap_keys
from chalicelib.features.sites.visits.logic.visit_documents import (
    robots_document,
    sitemap_document_or_none,
    visit_document,
)
from chalicelib.features.sites.visits.logic.visit_resolution import Visit, VisitedPlace, resolve_visit_or_none
from chalicelib.features.sites.visits.models import ResolveQuery, SitemapQuery, VisitOut
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ErrorDocument, RawResponse, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Item, ItemKey

routes = RouteGroup("sites")

PageResponse = PageOut | Annotated[RawResponse, "text/html"]

_HOME: Final = "/"
_CACHE_ONE_MINUTE: Final = "public, max-age=60"


class QueriedPath(Prefetched):
    """What the path in the query resolves to among the published pages and, if requested, among the drafts."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys that resolve the path."""
        site_id, path = values.parameters["site_id"], to_comparable_path(values.query.path)
        if path is None:
            return []
        draft_keys = path_keys(site_id, path, draft=True) if values.query.draft else []
        return [*resolution_keys(site_id, path), *draft_keys]


class HomePages(Prefetched):
    """The published home page and the home page of the drafts."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys that find them."""
        site_id = values.parameters["site_id"]
        return [*path_keys(site_id, _HOME), *path_keys(site_id, _HOME, draft=True)]


class SitemapItems(Prefetched):
    """The sitemap, and its part in the query or its first part."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the sitemap and the part."""
        return sitemap_keys(values.parameters["site_id"], values.query.page)


@routes.get(
    "/sites/resolve",
    access=Caller.PUBLIC,
    scope=None,
    emits=None,
    cache_control=_CACHE_ONE_MINUTE,
)
def resolve_site(
    ctx: Context, query: ResolveQuery, visited: VisitedPlace
) -> (
    VisitOut
    | Annotated[RawResponse, "text/html", "text/plain", "application/xml"]
    | Annotated[ErrorDocument, 404, "text/html"]
    | Annotated[Redirect, 301, 302, 307, 308]
):
    """Find the content at a host and path: a page of the site, a redirect, or nothing.

    With `Accept: text/html`, the response is what the host has to send to its visitor: the page, the redirect, a page
    with status 404, `/robots.txt` or `/sitemap.xml`. A CDN or proxy only has to pass it on.

    Hosts are compared ignoring case, port and a trailing dot. Another spelling of a page's path redirects to the path,
    and another host of the site to its `host`. A host without a published site is `not_found`.
    """
    as_html, items = wants_html(ctx.request), dict(visited.items)
    ctx.headers["Vary"] = "Accept"
    visit = resolve_visit_or_none(query, items, generates_documents=as_html)
    if as_html:
        return visit_document(ctx, query, visit, items)
    if visit is None:
        raise not_found()
    return _visit_output(visit)


@routes.get(
    "/sites/{site_id}/pages/by-path",
    access=require_site_organization_role(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
)
def get_page_by_path(
    ctx: Context, site: Site, query: PathQuery, queried_path: QueriedPath
) -> PageResponse | Annotated[Redirect, 301, 302, 307, 308]:
    """Get the published page at a path, as JSON or HTML.

    With `draft`, members get the draft at a path of the drafts. Redirects and former paths of pages are answered by a
    redirect.
    """
    path, items = to_comparable_path(query.path), dict(queried_path.items)
    if path is None:
        raise not_found()
    if query.draft and ctx.role is not None:
        return _draft_response_to_member(
            ctx, site, locate_by_path_or_none(site.id, path, items, draft=True), queried_path.items
        )
    resolved = resolve_to_page_or_redirect(site.id, path, items, to_decoded_clean_path(query.path))
    if isinstance(resolved, RedirectTarget):
        return _redirect_to_api_path_or_address(ctx, site, resolved)
    return _published_response(ctx, site, resolved, queried_path.items)


@routes.get(
    "/sites/{site_id}/pages/home",
    access=require_site_organization_role(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
)
def get_home_page(ctx: Context, site: Site, query: DraftQuery, home_pages: HomePages) -> PageResponse:
    """Get the published page at `/`, as JSON or HTML. With `draft`, members get its draft.

    It is the page whose `isHome` is true. Use it for the first request of a visitor to `/`. A site without a published
    home page is not found.
    """
    items = dict(home_pages.items)
    if query.draft and ctx.role is not None:
        return _draft_response_to_member(
            ctx, site, locate_by_path_or_none(site.id, _HOME, items, draft=True), home_pages.items
        )
    return _published_response(ctx, site, locate_by_path_or_none(site.id, _HOME, items), home_pages.items)


@routes.get(
    "/sites/{site_id}/robots.txt",
    access=require_site_organization_role(None, public_label="public"),
    scope=None,
    emits=None,
)
def get_robots_txt(ctx: Context, site: Site) -> Annotated[RawResponse, "text/plain"]:
    """Get the robots.txt of a site. It disallows everything until the site is published.

    Serve it at `/robots.txt` of the site's host. It names the sitemap, and the paths that `robots.disallow` of the site
    lists.
    """
    (site_with_domain,) = load_sites_with_domains(ctx, [site])
    return robots_document(ctx, site_with_domain)


@routes.get(
    "/sites/{site_id}/sitemap.xml",
    access=require_site_organization_role(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
)
def get_sitemap(
    ctx: Context, site: Site, query: SitemapQuery, sitemap: SitemapItems
) -> Annotated[RawResponse, "application/xml", "text/xml"]:
    """Get the sitemap of a published site: its indexable pages and their last publication.

    With more than 10,000 pages it is an index of parts, and `page` selects a part. Pages with `noindex` or with another
    canonical URL are omitted, and so are pages that the site's `robots` disallow for all crawlers. Clients that only
    know text get the same document as `text/xml` if they ask for it with `Accept`.
    """
    ctx.headers["Vary"] = VARY_BY_ACCEPT
    (site_with_domain,) = load_sites_with_domains(ctx, [site])
    document = sitemap_document_or_none(ctx, site_with_domain, query.page, sitemap.items)
    if document is None:
        raise not_found()
    as_text = ctx.request.prefers("text/xml", other_type="application/xml")
    return replace(document, content_type="text/xml") if as_text else document


def _visit_output(visit: Visit) -> VisitOut:
    page = load_published_page_or_none(visit.site.id, visit.page) if visit.page and not visit.redirect else None
    return VisitOut(
        site=SiteOut.of(visit.site),
        match="redirect" if visit.redirect else "page" if page else "none",
        page=page_to_public_output(page) if page else None,
        redirect=visit.redirect,
    )


def _published_response(
    ctx: Context, site: Site, location: PageLocation | None, items: Mapping[ItemKey, Item]
) -> PageResponse:
    as_html = wants_html(ctx.request)
    page = load_published_page_or_none(site.id, location, with_blocks=not as_html) if location else None
    if page is None or location is None:
        raise not_found()
    ctx.allow_caching(vary=VARY_BY_ACCEPT)
    if as_html:
        return render_page(ctx, site, page, location.revision_id, items)
    return PageOut.of(page) if ctx.role is not None else page_to_public_output(page)


def _draft_response_to_member(
    ctx: Context, site: Site, location: PageLocation | None, items: Mapping[ItemKey, Item]
) -> PageResponse:
    as_html = wants_html(ctx.request)
    page = load_draft_page_or_none(site.id, location, with_blocks=not as_html) if location else None
    if page is None:
        raise not_found()
    ctx.allow_caching(vary=VARY_BY_ACCEPT)
    ctx.headers["X-Robots-Tag"] = "noindex"
    if as_html:
        return render_page(ctx, site, page, page.draft_revision_id, items, is_preview=True)
    return PageOut.of(page)


def _redirect_to_api_path_or_address(ctx: Context, site: Site, target: RedirectTarget) -> Redirect:
    ctx.allow_caching(vary=VARY_BY_ACCEPT)
    if target.site_path is None:
        return Redirect(to_location(target.to_path), target.status_code)
    return Redirect(f"/sites/{site.id}/pages/by-path?{urlencode({'path': target.to_path})}", target.status_code)

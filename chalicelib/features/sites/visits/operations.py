"""Visits: the page at a path, the home, what a host and path lead to; what crawlers are told."""

from typing import Annotated, Final
from urllib.parse import urlencode

from chalicelib.features.sites.entities.sites import Site, at_site
from chalicelib.features.sites.logic import with_domains
from chalicelib.features.sites.models.redirect_targets import as_location
from chalicelib.features.sites.models.url_paths import normalized, written
from chalicelib.features.sites.pages.logic.page_queries import Located, at, drafted, leading_to, published, to_public
from chalicelib.features.sites.pages.models.schemas import DraftQuery, PageOut, PathQuery
from chalicelib.features.sites.redirects.logic.resolution import Target, look_up, signposts
from chalicelib.features.sites.visits.logic.page_view import BY_ACCEPT, as_people_see_it, is_for_people
from chalicelib.features.sites.visits.logic.robots import robots_of
from chalicelib.features.sites.visits.logic.sitemaps import beside_sitemap, sitemap_of
from chalicelib.features.sites.visits.logic.visit_resolution import arrive, beside_host
from chalicelib.features.sites.visits.models import ResolveQuery, SitemapQuery, VisitOut
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("sites")

Shown = PageOut | Annotated[RawResponse, "text/html"]

_HOME: Final = "/"
_A_MINUTE: Final = "public, max-age=60"
_CACHED: Final = {"Cache-Control": "public, max-age=300"}


def beside_path(request: Request) -> list[ItemKey]:
    """Return where it stands what the path leads to that the query names: of what is published, and of the drafts."""
    site_id, path = request.parameters["site_id"], normalized(request.query.get("path", [_HOME])[-1])
    if path is None:
        return []
    drafts = leading_to(site_id, path, draft=True) if "draft" in request.query else []
    return [*signposts(site_id, path), *drafts]


def beside_home(request: Request) -> list[ItemKey]:
    """Return where it stands which pages are at `/`."""
    site_id = request.parameters["site_id"]
    return [*leading_to(site_id, _HOME), *leading_to(site_id, _HOME, draft=True)]


@routes.get(
    "/sites/resolve", access=Caller.PUBLIC, scope=None, emits=None, prefetch=beside_host, cache_control=_A_MINUTE
)
def resolve_site(ctx: Context, query: ResolveQuery) -> VisitOut:
    """Find what is at a host and path: a page of the site, where a redirect leads, or nothing.

    Hosts are compared as DNS does, whatever their case, port and dot at the end. A path that is another way to write a
    page's is redirected to that. A host of no site, or of one that is not published, is `not_found`.
    """
    visit = arrive(query.host, query.path, dict(ctx.access.prefetched))
    if visit is None:
        raise not_found()
    return visit


@routes.get(
    "/sites/{site_id}/pages/by-path",
    access=at_site(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
    prefetch=beside_path,
)
def get_page_by_path(ctx: Context, site: Site, query: PathQuery) -> Shown | Annotated[Redirect, 301, 302, 307, 308]:
    """Get the page at a path as it is published, in JSON or as HTML.

    With `draft`, members get the draft that is at the path of the drafts. Where a redirect leads on, or a page was
    once, the answer does.
    """
    path, read = normalized(query.path), dict(ctx.access.prefetched)
    if path is None:
        raise not_found()
    if query.draft and ctx.role is not None:
        return _draft(ctx, site, at(site.id, path, read, draft=True))
    found = look_up(site.id, path, read, written(query.path))
    if isinstance(found, Target):
        return _moved(ctx, site, found)
    return _page(ctx, site, found)


@routes.get(
    "/sites/{site_id}/pages/home",
    access=at_site(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
    prefetch=beside_home,
)
def get_home_page(ctx: Context, site: Site, query: DraftQuery) -> Shown:
    """Get the page at `/` as it is published, in JSON or as HTML; with `draft`, members get its draft."""
    read = dict(ctx.access.prefetched)
    if query.draft and ctx.role is not None:
        return _draft(ctx, site, at(site.id, _HOME, read, draft=True))
    return _page(ctx, site, at(site.id, _HOME, read))


@routes.get("/sites/{site_id}/robots.txt", access=at_site(None, public_label="public"), scope=None, emits=None)
def get_robots_txt(ctx: Context, site: Site) -> Annotated[RawResponse, "text/plain"]:
    """Get what a site asks of crawlers. Until it is published they are to leave all of it alone."""
    (reached,) = with_domains(ctx, [site])
    return RawResponse(robots_of(reached), "text/plain; charset=utf-8", _CACHED)


@routes.get(
    "/sites/{site_id}/sitemap.xml",
    access=at_site(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
    prefetch=beside_sitemap,
)
def get_sitemap(ctx: Context, site: Site, query: SitemapQuery) -> Annotated[RawResponse, "application/xml"]:
    """Get the sitemap of a published site: its pages that search engines are to find, each since when it is as it is.

    Of more than 10,000 pages it is the index of the parts that `page` numbers. What asks not to be indexed, or names
    another address as the canonical one, is left out.
    """
    (reached,) = with_domains(ctx, [site])
    text = sitemap_of(reached, query.page, ctx.access.prefetched) if site.is_published else None
    if text is None:
        raise not_found()
    return RawResponse(text, "application/xml", _CACHED)


def _page(ctx: Context, site: Site, located: Located | None) -> Shown:
    for_people = is_for_people(ctx.request)
    page = published(site.id, located, blocks=not for_people) if located else None
    if page is None or located is None:
        raise not_found()
    ctx.allow_caching(by=BY_ACCEPT)
    if for_people:
        return as_people_see_it(ctx, site, page, located.revision_id)
    return PageOut.of(page) if ctx.role is not None else to_public(page)


def _draft(ctx: Context, site: Site, located: Located | None) -> Shown:
    for_people = is_for_people(ctx.request)
    page = drafted(site.id, located, blocks=not for_people) if located else None
    if page is None:
        raise not_found()
    ctx.allow_caching(by=BY_ACCEPT)
    ctx.headers["X-Robots-Tag"] = "noindex"
    if for_people:
        return as_people_see_it(ctx, site, page, page.draft_revision_id, preview=True)
    return PageOut.of(page)


def _moved(ctx: Context, site: Site, target: Target) -> Redirect:
    ctx.allow_caching(by=BY_ACCEPT)
    if target.path is None:
        return Redirect(as_location(target.to_path), target.status_code)
    return Redirect(f"/sites/{site.id}/pages/by-path?{urlencode({'path': target.to_path})}", target.status_code)

"""Redirects: list, create, get, change, delete."""

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import Site, at_site
from chalicelib.features.sites.models.redirects import RedirectCreate, RedirectOut, RedirectPatch
from chalicelib.features.sites.redirects.logic.redirect_changes import change, create, let_go, surroundings
from chalicelib.features.sites.redirects.logic.redirect_queries import RedirectToShow, leading
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("sites")

_REDIRECT = "/sites/{site_id}/redirects/{redirect_id}"


@routes.get("/sites/{site_id}/redirects", access=at_site(Role.MEMBER), scope="sites:read", emits=None)
def list_redirects(ctx: Context, site: Site, query: ListQuery) -> ListPage[RedirectOut]:
    """List the redirects of a site in the order they were created, those of pages that moved included."""
    page = ctx.list_records(Redirect, Redirect.in_site, query, Redirect.replace, site_id=site.id)
    redirects = [redirect for redirect in page.items if isinstance(redirect, Redirect)]
    return ListPage([RedirectOut.of(redirect) for redirect in leading(site.id, redirects)], page.next_cursor)


@routes.post(
    "/sites/{site_id}/redirects",
    access=at_site(Role.EDITOR),
    scope="sites:write",
    emits="site.redirect.created",
    prefetch=surroundings,
)
def create_redirect(ctx: Context, site: Site, body: RedirectCreate) -> RedirectOut:
    """Create a redirect: of one path or, with `/*` at its end, of all below it, where the longest one counts.

    That of a path itself goes before the page there; that of all below a path comes after pages, and after where pages
    were. It is refused if a visitor would come back to where they were, or had to follow more than five.
    """
    return RedirectOut.of(create(ctx, site, body.fields()))


@routes.get(_REDIRECT, access=at_site(Role.MEMBER), scope="sites:read", emits=None)
def get_redirect(_ctx: Context, _site: Site, redirect: RedirectToShow) -> RedirectOut:
    """Get a redirect."""
    return RedirectOut.of(redirect)


@routes.patch(
    _REDIRECT, access=at_site(Role.EDITOR), scope="sites:write", emits="site.redirect.updated", prefetch=surroundings
)
def update_redirect(ctx: Context, site: Site, redirect: RedirectToShow, body: RedirectPatch) -> RedirectOut:
    """Change a redirect; what is disabled leads nowhere.

    One that was made for a page that moved is a manual one then: it leads where it says, and follows the page no more.
    """
    return RedirectOut.of(change(ctx, site, redirect, body))


@routes.delete(_REDIRECT, access=at_site(Role.EDITOR), scope="sites:write", emits="site.redirect.deleted")
def delete_redirect(ctx: Context, _site: Site, redirect: RedirectToShow) -> None:
    """Delete a redirect. After one that was made for a page that moved, nothing leads from where that was, or below."""
    if redirect.origin == "page":
        let_go(ctx, redirect)
    ctx.changes.delete(redirect)

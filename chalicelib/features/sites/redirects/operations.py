"""HTTP operations on the redirects of a site."""

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import Site, require_site_organization_role
from chalicelib.features.sites.models.redirects import RedirectCreate, RedirectOut, RedirectPatch
from chalicelib.features.sites.redirects.logic.redirect_changes import (
    RedirectTargetItems,
    add_redirect,
    change_redirect,
    remove_redirect,
)
from chalicelib.features.sites.redirects.logic.redirect_queries import ResolvedRedirect, load_with_current_destinations
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("sites")

_REDIRECT = "/sites/{site_id}/redirects/{redirect_id}"


@routes.get(
    "/sites/{site_id}/redirects", access=require_site_organization_role(Role.MEMBER), scope="sites:read", emits=None
)
def list_redirects(ctx: Context, site: Site, query: ListQuery) -> ListPage[RedirectOut]:
    """List the redirects of a site in order of creation, including those of moved pages.

    A redirect leads visitors from a former path to a current one. `origin` is `page` for those that the service made
    when a page moved, and `manual` for the others.
    """
    page = ctx.list_records(Redirect, Redirect.in_site, query, Redirect.replace, site_id=site.id)
    redirects = [redirect for redirect in page.items if isinstance(redirect, Redirect)]
    return ListPage(
        [RedirectOut.of(redirect) for redirect in load_with_current_destinations(site.id, redirects)], page.next_cursor
    )


@routes.post(
    "/sites/{site_id}/redirects",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="site.redirect.created",
)
def create_redirect(ctx: Context, site: Site, body: RedirectCreate, target_items: RedirectTargetItems) -> RedirectOut:
    """Create a redirect of one path or, with `/*` at the end, of all paths below; the longest match wins.

    A redirect of a path takes precedence over a page at the path. A wildcard redirect comes after pages and former
    paths of pages. A redirect is rejected if it would be part of a loop, or of a chain of more than five redirects.
    """
    return RedirectOut.of(add_redirect(ctx, site, body.to_stored_fields_with_defaults(), target_items))


@routes.get(_REDIRECT, access=require_site_organization_role(Role.MEMBER), scope="sites:read", emits=None)
def get_redirect(_ctx: Context, _site: Site, redirect: ResolvedRedirect) -> RedirectOut:
    """Get a redirect.

    The target of a redirect of a moved page is the page's current path. A manual redirect has a fixed target.
    """
    return RedirectOut.of(redirect)


@routes.patch(
    _REDIRECT,
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="site.redirect.updated",
)
def update_redirect(
    ctx: Context, site: Site, redirect: ResolvedRedirect, body: RedirectPatch, target_items: RedirectTargetItems
) -> RedirectOut:
    """Change a redirect. A disabled redirect has no effect.

    A redirect of a moved page becomes a manual one: it has a fixed target and no longer follows the page.
    """
    return RedirectOut.of(change_redirect(ctx, site, redirect, body, target_items))


@routes.delete(
    _REDIRECT, access=require_site_organization_role(Role.EDITOR), scope="sites:write", emits="site.redirect.deleted"
)
def delete_redirect(ctx: Context, _site: Site, redirect: ResolvedRedirect) -> None:
    """Delete a redirect. Deleting one of a moved page also removes the redirects of the former paths below it.

    Visitors of the former path then get the page at that path, or 404. Search engines may remember a permanent redirect
    for some time.
    """
    remove_redirect(ctx, redirect)

"""Menus: list, get, put."""

from chalicelib.features.sites.entities.sites import Site, at_site
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_changes import put
from chalicelib.features.sites.menus.logic.menu_entries import in_place, surroundings
from chalicelib.features.sites.menus.models import MenuOut, MenuPut, MenuSummary
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("sites")

_MENU = "/sites/{site_id}/navigation/{navigation_id}"


@routes.get(
    "/sites/{site_id}/navigation", access=at_site(Role.MEMBER, if_published=True), scope="sites:read", emits=None
)
def list_navigation_menus(ctx: Context, site: Site, query: ListQuery) -> ListPage[MenuSummary]:
    """List the menus of a site, without their items, in the order they were created."""
    ctx.allow_caching()
    return ctx.list_records(Menu, Menu.in_site, query, MenuSummary.of, site_id=site.id)


@routes.get(_MENU, access=at_site(Role.MEMBER, if_published=True), scope="sites:read", emits=None)
def get_navigation_menu(ctx: Context, _site: Site, menu: Menu) -> MenuOut:
    """Get a menu, with where each page in it is now.

    The public sees no item of a page that is not published, nor what is below it; members see it without a path.
    """
    ctx.allow_caching()
    member = ctx.role is not None
    shown = in_place(menu, drafts=member, read=ctx.access.prefetched)
    return MenuOut.of(shown if member else shown.published())


@routes.put(
    _MENU, access=at_site(Role.EDITOR), scope="sites:write", emits="site.navigation.updated", prefetch=surroundings
)
def put_navigation_menu(ctx: Context, site: Site, navigation_id: str, menu: Menu | None, body: MenuPut) -> MenuOut:
    """Create a menu, or replace it as a whole; a site has 100 at most. Its id is yours to choose, such as `main`.

    Items lead to pages of the site, wherever these are published by then, or by an address to anything else; a `group`
    only holds others. One whose page is deleted stays, as `dangling`.
    """
    return MenuOut.of(put(ctx, site, navigation_id, menu, body))

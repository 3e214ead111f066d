"""HTTP operations on the menus of a site."""

from chalicelib.features.sites.entities.sites import Site, require_site_organization_role
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_changes import put_menu
from chalicelib.features.sites.menus.logic.menu_entries import LinkedPages, load_with_page_paths
from chalicelib.features.sites.menus.models import MenuOut, MenuPut, MenuSummary
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("sites")

_MENU = "/sites/{site_id}/navigation/{navigation_id}"


@routes.get(
    "/sites/{site_id}/navigation",
    access=require_site_organization_role(Role.MEMBER, if_published=True),
    scope="sites:read",
    emits=None,
)
def list_navigation_menus(ctx: Context, site: Site, query: ListQuery) -> ListPage[MenuSummary]:
    """List the menus of a site without their items, in order of creation.

    Use it to find the menus that a site has, such as `main` and `footer`. Get each of them to read its items.
    """
    ctx.allow_caching()
    return ctx.list_records(Menu, Menu.in_site, query, MenuSummary.of, site_id=site.id)


@routes.get(
    _MENU, access=require_site_organization_role(Role.MEMBER, if_published=True), scope="sites:read", emits=None
)
def get_navigation_menu(ctx: Context, _site: Site, menu: Menu) -> MenuOut:
    """Get a menu with the current paths of its pages.

    The public does not see items of unpublished pages, nor their children. Members see them without a path.
    """
    ctx.allow_caching()
    is_member = ctx.role is not None
    resolved = load_with_page_paths(menu, include_drafts=is_member, prefetched={})
    return MenuOut.of(resolved if is_member else resolved.without_unpublished())


@routes.put(
    _MENU,
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="site.navigation.updated",
)
def put_navigation_menu(
    ctx: Context, site: Site, navigation_id: str, menu: Menu | None, body: MenuPut, linked_pages: LinkedPages
) -> MenuOut:
    """Create or replace a menu. You choose its id. A site has at most 100 menus.

    The rendered pages of the site show the menu `main`. Your front end can read and show the others. Items link to
    pages of the site, whatever their current paths, or to any address. A `group` only contains other items. An item
    whose page is deleted stays and is `dangling`.
    """
    return MenuOut.of(put_menu(ctx, site, navigation_id, menu, body, linked_pages))

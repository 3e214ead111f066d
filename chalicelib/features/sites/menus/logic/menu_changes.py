"""Creation and replacement of menus."""

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import LinkedPages, PagePathReader
from chalicelib.features.sites.menus.logic.menu_rules import reject_invalid_items, reject_unknown_pages
from chalicelib.features.sites.menus.models import MenuPut
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.execution.context import Context


def put_menu(ctx: Context, site: Site, menu_id: str, menu: Menu | None, body: MenuPut, linked: LinkedPages) -> Menu:
    """Create or replace a menu of a site. A replacement without changes writes nothing.

    Raises ValidationProblem if the items are invalid.
    """
    outline = body.to_stored_fields_with_defaults()["items"]
    reject_invalid_items(outline)
    current = menu or Menu(**{**ctx.new_id_and_time_fields(), "id": menu_id}, **site.ids_by_parameter, name=body.name)
    pages = PagePathReader(site.id, include_drafts=True, prefetched=linked.items, read_keys=linked.keys)
    updated = current.replace(name=body.name, outline=outline)
    page_paths = pages.load_published_paths_of_existing_pages(
        sorted({*current.page_ids, *updated.page_ids}), current.ancestor_page_ids
    )
    reject_unknown_pages(outline, {*page_paths, *(menu.page_ids if menu else ())})
    current, updated = (
        current.replace(page_paths=page_paths),
        updated.replace(page_paths=page_paths, ancestor_page_ids=pages.ancestor_ids(updated.page_ids)),
    )
    if menu is None:
        return ctx.changes.event(ctx.changes.create(updated))
    if json_equal(current.outline, outline) and current.name == body.name:
        return current
    ctx.changes.event(current)
    return ctx.changes.update(current, name=body.name, outline=outline, ancestor_page_ids=updated.ancestor_page_ids)

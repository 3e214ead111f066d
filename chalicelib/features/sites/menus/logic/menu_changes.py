"""Where menus come to be and change."""

from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import Whereabouts, surroundings
from chalicelib.features.sites.menus.logic.menu_rules import refuse_unknown, refuse_wrong
from chalicelib.features.sites.menus.models import MenuPut
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.execution.context import Context


def put(ctx: Context, site: Site, menu_id: str, present: Menu | None, body: MenuPut) -> Menu:
    """Let a site have a menu by an id, whatever it has there until now; what changes nothing is not written.

    Raises Invalid if it can't be so.
    """
    outline = body.fields()["items"]
    refuse_wrong(outline)
    before = present or Menu(**{**ctx.new_record_fields(), "id": menu_id}, **site.ancestor_ids, name=body.name)
    pages = Whereabouts(site.id, drafts=True, read=ctx.access.prefetched, asked=surroundings(ctx.request))
    wanted = before.replace(name=body.name, outline=outline)
    places = pages.places(sorted({*before.page_ids, *wanted.page_ids}), before.above)
    refuse_unknown(outline, {*places, *(present.page_ids if present else ())})
    before, wanted = before.replace(places=places), wanted.replace(places=places, above=pages.above(wanted.page_ids))
    if present is None:
        return ctx.changes.create(wanted)
    if json_equal(before.outline, outline) and before.name == body.name:
        return before
    return ctx.changes.update(before, name=body.name, outline=outline, above=wanted.above)

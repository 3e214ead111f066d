"""A page of a site as people see it: in the site's language, with its menu, in the looks of its platform."""

from collections.abc import Iterable, Mapping
from typing import Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.logic import verified
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import Entry, resolved
from chalicelib.features.sites.pages.entities.pages import RENDER, Content, Page
from chalicelib.features.sites.pages.entities.renderings import Rendered
from chalicelib.features.sites.rendering.logic.page_document import page as rendered
from chalicelib.features.sites.rendering.models.view import Blocks, MenuItem, View
from chalicelib.kernel.core.logs import best_effort
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues

MENU: Final = "main"
"""The menu that pages show, by its id."""

BY_ACCEPT: Final = "Accept, Authorization"
"""What decides, beside the address, how a page is answered."""


def is_for_people(request: Request) -> bool:
    """Return whether a page is to be answered as HTML."""
    return request.prefers("text/html", to="application/json")


def as_people_see_it(
    ctx: Context, site: Site, page: Page, revision_id: str | None, *, preview: bool = False
) -> RawResponse:
    """Return a page as HTML as one of its revisions has it, with the headers that the context has for its answer.

    It takes a read of what its blocks have become, of the site's platform and menu, and one or two of where the menu
    leads. `page` needs no blocks.
    """
    lent = str(site.platform_id)
    of_platform = (
        [Platform.make_item_key(id=lent), CustomDomain.make_item_key(platform_id=lent)] if site.platform_id else []
    )
    names = {"page_id": page.id, "id": str(revision_id)}
    found = ctx.load(keys=[Rendered.make_item_key(**names), Menu.make_item_key(site_id=site.id, id=MENU), *of_platform])
    theme = next((platform.theme for platform in found.instances_of(Platform)), None)
    menu = next((resolved(each, ctx.access.prefetched) for each in found.instances_of(Menu)), [])
    host = site.replace(domain=verified(next(iter(found.instances_of(CustomDomain)), None)))
    seo = page.seo
    view = View(
        lang=site.default_locale,
        title=page.title,
        site_name=site.name,
        called=seo["title"],
        blocks=_blocks(next(iter(found.instances_of(Rendered)), None), page.title, names),
        description=seo["description"],
        image=seo["image"],
        canonical=None if preview else seo["canonical"] or host.url + page.path,
        noindex=seo["noindex"] or not site.is_published,
        theme=theme,
        menu=_items(menu, page.path),
        preview=preview,
    )
    return rendered(view, ctx.headers)


def _blocks(stored: Rendered | None, title: str, names: Mapping[str, str]) -> Blocks:
    """Return what the blocks of a revision have become; what this renderer has not rendered yet it is asked to."""
    if stored and stored.is_current:
        return Blocks(f"{stored.id}.{stored.version}", stored.read)
    key = Content.make_item_key(**names)
    item = table.get(key)
    if item is None:  # It went at this very moment, with its page.
        raise not_found()
    with best_effort("render"):
        queues.enqueue(RENDER, key)
    content = Content.from_item(item)
    return Blocks(f"{content.id}.{content.version}", lambda: content.beneath(title).rendering.html)


def _items(entries: Iterable[Entry], path: str) -> list[MenuItem]:
    return [MenuItem(each.label, each.href, each.href == path, _items(each.children, path)) for each in entries]

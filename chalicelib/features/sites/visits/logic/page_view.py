"""Return a page as HTML, with the menu and language of its site and the theme of its platform."""

from collections.abc import Iterable, Mapping
from typing import Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.logic import with_domain
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import MenuEntry, load_public_menu_entries
from chalicelib.features.sites.pages.entities.pages import RENDER_TASK, Content, Page
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.sites.rendering.logic.page_document import render_document as rendered
from chalicelib.features.sites.rendering.models.view import Blocks, MenuItem, View
from chalicelib.kernel.core.logs import log_and_ignore_aws_errors
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.work import queues

MAIN_MENU_ID: Final = "main"
"""Id of the menu that pages show."""

VARY_BY_ACCEPT: Final = "Accept, Authorization"
"""Value of `Vary` for responses with a page."""


def wants_html(request: Request) -> bool:
    """Return whether a request prefers HTML."""
    return request.prefers("text/html", other_type="application/json")


def render_page(
    ctx: Context,
    site: Site,
    page: Page,
    revision_id: str | None,
    items: Mapping[ItemKey, Item],
    *,
    is_preview: bool = False,
) -> RawResponse:
    """Return a revision of a page as HTML, with the response headers of the context. `page` needs no blocks.

    One read loads the stored rendering, the menu, the platform of the site and, unless `site` has it, its domain. One
    or two reads load the paths of the pages in the menu, unless they are among `items`, which were read before.
    """
    ids = {"page_id": page.id, "id": str(revision_id)}
    menu_key = Menu.make_item_key(site_id=site.id, id=MAIN_MENU_ID)
    records = ctx.load_collections_and_keyed_records(
        keys=[StoredRendering.make_item_key(**ids), menu_key, *_platform_and_domain_keys(site)]
    )
    theme = next((platform.theme for platform in records.instances_of(Platform)), None)
    menu = next((load_public_menu_entries(each, items) for each in records.instances_of(Menu)), [])
    site_with_domain = with_domain(site, next(iter(records.instances_of(CustomDomain)), None))
    seo = page.seo
    view = View(
        lang=site.default_locale,
        title=page.title,
        site_name=site.name,
        called=seo["title"],
        blocks=_load_or_render_blocks_and_enqueue(
            next(iter(records.instances_of(StoredRendering)), None), page.title, ids
        ),
        description=seo["description"],
        image=seo["image"],
        canonical=None if is_preview else seo["canonical"] or site_with_domain.url + page.path,
        noindex=seo["noindex"] or not site.is_published,
        theme=theme,
        menu=_menu_items(menu, page.path),
        preview=is_preview,
    )
    return rendered(view, ctx.headers)


def _platform_and_domain_keys(site: Site) -> list[ItemKey]:
    if not site.platform_id:
        return []
    keys = [Platform.make_item_key(id=site.platform_id)]
    return keys if site.platform_slug else [*keys, CustomDomain.make_item_key(platform_id=site.platform_id)]


def _load_or_render_blocks_and_enqueue(stored: StoredRendering | None, title: str, ids: Mapping[str, str]) -> Blocks:
    """Return the HTML of the blocks of a revision. If none is stored for the current renderer, render it in a task."""
    if stored and stored.is_current:
        return Blocks(f"{stored.id}.{stored.version}", stored.load_html)
    key = Content.make_item_key(**ids)
    item = table.get(key)
    if item is None:  # The page was deleted concurrently.
        raise not_found()
    with log_and_ignore_aws_errors("render"):
        queues.enqueue(RENDER_TASK, key)
    content = Content.from_item(item)
    return Blocks(
        f"{content.id}.{content.version}", lambda: content.with_repeats_title(title).fresh_rendering.html_or_placeholder
    )


def _menu_items(entries: Iterable[MenuEntry], path: str) -> list[MenuItem]:
    return [MenuItem(each.label, each.href, each.href == path, _menu_items(each.children, path)) for each in entries]

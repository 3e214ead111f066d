"""A page of a site as people see it: in the site's language, with its menu, in the looks of its platform."""

from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.pages.entities import Page
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.rendering.models import View
from chalicelib.features.rendering.page import page as rendered
from chalicelib.features.sites.entities import Site
from chalicelib.features.sites.reach import verified
from chalicelib.kernel.context import Context
from chalicelib.kernel.operation import Document
from chalicelib.kernel.request import Request

BY_ACCEPT = "Accept, Authorization"
"""What decides, beside the address, how a page is answered."""


def is_for_people(request: Request) -> bool:
    """Return whether a page is to be answered as HTML."""
    return request.prefers("text/html", to="application/json")


def as_people_see_it(ctx: Context, site: Site, page: Page, *, preview: bool = False) -> Document:
    """Return a page as HTML, with the headers that the context has for its answer.

    It takes a read of the site's platform and menu, and one of where the menu leads.
    """
    keys = [
        of.key_of(**{name: str(site.platform_id)}) for of, name in ((Platform, "id"), (CustomDomain, "platform_id"))
    ]
    found = ctx.gather(keys=keys if site.platform_id else [])
    platform = next(iter(found.of(Platform)), None)
    host = site.but(domain=verified(next(iter(found.of(CustomDomain)), None)))
    seo = page.seo
    view = View(
        lang=site.default_locale, title=page.title, site_name=site.name, blocks=page.blocks, called=seo.get("title"),
        description=seo.get("description"), image=seo.get("image"),
        canonical=None if preview else seo.get("canonical") or host.url + page.path,
        noindex=bool(seo.get("noindex")) or not site.published, theme=platform.theme if platform else None,
        preview=preview,
    )  # fmt: skip
    return rendered(view, ctx.headers)

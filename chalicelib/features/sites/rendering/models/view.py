"""The data of a rendered page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class MenuItem:
    """An item of a site's menu. Without `href` it only contains other items."""

    label: str
    href: str | None = None
    current: bool = False
    children: Sequence["MenuItem"] = ()

    @property
    def has_current_descendant(self) -> bool:
        """Return whether the current page is among the items below."""
        return any(child.current or child.has_current_descendant for child in self.children)


@dataclass(frozen=True)
class Blocks:
    """The rendered blocks of a page. `tag` changes with them. `html` returns them when they are needed."""

    tag: str
    html: Callable[[], str]


@dataclass(frozen=True)
class View:
    """The data of a page.

    `lang`: BCP 47. `called`: title for search engines and link previews. `canonical` and `image`: absolute URLs.
    `theme`: as stored by a platform. `site_name`: empty if there is no site, and no home page to link to. `home_href`:
    link to the home page. `preview`: whether to show that this is a draft.
    """

    lang: str
    title: str
    site_name: str
    blocks: Blocks
    called: str | None = None
    description: str | None = None
    canonical: str | None = None
    image: str | None = None
    noindex: bool = False
    menu: Sequence[MenuItem] = ()
    theme: Mapping[str, Any] | None = None
    home_href: str = "/"
    preview: bool = False

    @property
    def etag_inputs(self) -> dict[str, Any]:
        """Return all data that determines the page, with the tag of the blocks. Equal inputs make equal pages."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**values, "blocks": self.blocks.tag}

"""What there is to show: a page, and the site that it is part of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class MenuItem:
    """An item of a site's menu. Without `href` it only holds the items below it."""

    label: str
    href: str | None = None
    current: bool = False
    children: Sequence["MenuItem"] = ()

    @property
    def holds_current(self) -> bool:
        """Whether the page that is shown is among the items below."""
        return any(child.current or child.holds_current for child in self.children)


@dataclass(frozen=True)
class Blocks:
    """What the blocks of a page have become. `tag`: differs where that does. `html`: returns it, once it is needed."""

    tag: str
    html: Callable[[], str]


@dataclass(frozen=True)
class View:
    """A page as it is to be shown.

    `lang`: BCP 47. `called`: what others show in place of the title. `canonical` and `image`: absolute addresses.
    `theme`: as a platform stores it. `home_href`: where the site begins. `preview`: whether readers are told that this
    is a draft.
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
    def made_of(self) -> dict[str, Any]:
        """All that it says, and for its blocks their tag: of two views that are alike in this the pages are."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**said, "blocks": self.blocks.tag}

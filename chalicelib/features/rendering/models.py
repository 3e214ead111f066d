"""What there is to show: a page, and the site that it is part of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
class View:
    """A page as it is to be shown.

    `lang`: BCP 47. `called`: what others show in place of the title. `blocks`: as they are stored. `canonical` and
    `image`: absolute addresses. `theme`: as a platform stores it. `home_href`: where the site begins. `preview`:
    whether readers are told that this is a draft.
    """

    lang: str
    title: str
    site_name: str
    blocks: Sequence[Mapping[str, Any]] = ()
    called: str | None = None
    description: str | None = None
    canonical: str | None = None
    image: str | None = None
    noindex: bool = False
    menu: Sequence[MenuItem] = ()
    theme: Mapping[str, Any] | None = None
    home_href: str = "/"
    preview: bool = False

"""What the operations on menus accept and answer."""

from typing import Final, Literal

from pydantic import Field

from chalicelib.features.platforms.models.nested_items import NothingBelow
from chalicelib.kernel.http.fields import ElementId, Link, Name, Uuid
from chalicelib.kernel.http.models import Input, Output, RecordOutput

MOST_ITEMS: Final = 200
"""Of a menu, on all levels."""

ItemType = Literal["page", "url", "group"]


class MenuLeafIn(Input):
    """An item of a menu."""

    id: ElementId = Field(description="Different from that of every other item of the menu.", examples=["looms"])
    label: Name = Field(examples=["Looms"])
    type: ItemType = Field(examples=["url"])
    page_id: Uuid | None = Field(None, description="Of the type `page`: a page of the site.", examples=[None])
    url: Link | None = Field(
        None,
        examples=["https://example.com/looms"],
        description="Of the type `url`: a web address, an e-mail address by `mailto:`, or a path of the site.",
    )
    children: NothingBelow = Field([], examples=[[]])
    path: str | None = Field(None, exclude=True, description="As menus show it; it is found out anew.", examples=[None])
    dangling: bool = Field(default=False, exclude=True, description="As menus show it; it is found out anew.")


class MenuBranchIn(MenuLeafIn):
    """An item of a menu that may have items below."""

    children: list[MenuLeafIn] = Field([], max_length=MOST_ITEMS, examples=[[]])


class MenuItemIn(MenuBranchIn):
    """An item of a menu, at the top."""

    children: list[MenuBranchIn] = Field([], max_length=MOST_ITEMS, examples=[[]])  # type: ignore[assignment]


class MenuPut(Input):
    """A menu, as a whole."""

    name: Name = Field(examples=["Main menu"])
    items: list[MenuItemIn] = Field(
        [], max_length=MOST_ITEMS, description="Three levels deep at most, and 200 in all; 64 KiB as JSON."
    )


class MenuItemOut(Output):
    """An item of a menu."""

    id: str = Field(examples=["looms"])
    label: str = Field(examples=["Looms"])
    type: ItemType = Field(examples=["page"])
    page_id: Uuid | None = Field(None)
    url: str | None = Field(None, examples=[None])
    path: str | None = Field(
        None,
        examples=["/looms"],
        description="Where its page is published now; null of a draft, which only members see an item of.",
    )
    dangling: bool = Field(default=False, description="Whether its page is gone.", examples=[False])
    children: list["MenuItemOut"] = Field([], examples=[[]])


class MenuSummary(RecordOutput):
    """A menu as lists show it."""

    id: str = Field(description="What callers chose to name it by.", examples=["main"])
    site_id: Uuid
    name: str = Field(examples=["Main menu"])


class MenuOut(MenuSummary):
    """A menu of a site."""

    items: list[MenuItemOut] = Field(description="In the order in which they were sent.")

"""Request and response models of the menu operations."""

from typing import Final, Literal

from pydantic import Field

from chalicelib.features.platforms.models.nested_items import NoChildren
from chalicelib.kernel.http.fields import ElementId, Link, Name, Uuid
from chalicelib.kernel.http.models import Input, Output, RecordOutput

MAX_MENU_ITEMS: Final = 200
"""Maximum number of items of a menu, on all levels together."""

ItemType = Literal["page", "url", "group"]


class MenuLeafIn(Input):
    """An item of a menu."""

    id: ElementId = Field(description="Unique within the menu.", examples=["looms"])
    label: Name = Field(examples=["Looms"])
    type: ItemType = Field(examples=["url"])
    page_id: Uuid | None = Field(None, description="The linked page of the site; for type `page`.", examples=[None])
    url: Link | None = Field(
        None,
        examples=["https://example.com/looms"],
        description="For type `url`: a web address, a `mailto:` address or a path of the site.",
    )
    children: NoChildren = Field([], examples=[[]])
    path: str | None = Field(
        None, exclude=True, description="Ignored, so that responses can be sent back.", examples=[None]
    )
    dangling: bool = Field(default=False, exclude=True, description="Ignored, so that responses can be sent back.")


class MenuBranchIn(MenuLeafIn):
    """An item of a menu that can have children."""

    children: list[MenuLeafIn] = Field([], max_length=MAX_MENU_ITEMS, examples=[[]])


class MenuItemIn(MenuBranchIn):
    """A top-level item of a menu."""

    children: list[MenuBranchIn] = Field([], max_length=MAX_MENU_ITEMS, examples=[[]])  # type: ignore[assignment]


class MenuPut(Input):
    """A complete menu."""

    name: Name = Field(examples=["Main menu"])
    items: list[MenuItemIn] = Field(
        [], max_length=MAX_MENU_ITEMS, description="At most three levels deep, 200 in all, and 64 KiB as JSON."
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
        description="The published path of the page. Null for an unpublished page, which only members see.",
    )
    dangling: bool = Field(default=False, description="Whether the page was deleted.", examples=[False])
    children: list["MenuItemOut"] = Field([], examples=[[]])


class MenuSummary(RecordOutput):
    """A menu in a list."""

    id: str = Field(description="Id chosen by the caller.", examples=["main"])
    site_id: Uuid
    name: str = Field(examples=["Main menu"])


class MenuOut(MenuSummary):
    """A menu of a site."""

    items: list[MenuItemOut] = Field(description="Items in the order in which they were sent.")

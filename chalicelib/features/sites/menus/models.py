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
    """An item on the lowest level of a menu.

    It links to a page or an address, and has no children.
    """

    id: ElementId = Field(description="Unique within the menu.", examples=["looms"])
    label: Name = Field(examples=["Looms"])
    type: ItemType = Field(examples=["url"])
    page_id: Uuid | None = Field(None, description="The linked page of the site; for type `page`.", examples=[None])
    url: Link | None = Field(
        None,
        examples=["https://example.com/looms"],
        description="For type `url`: a web address, a `mailto:` address or a path of the site.",
    )
    children: NoChildren = Field([], examples=[None])
    path: str | None = Field(
        None, exclude=True, description="Ignored, so that responses can be sent back.", examples=[None]
    )
    dangling: bool = Field(
        default=False, exclude=True, description="Ignored, so that responses can be sent back.", examples=[None]
    )


class MenuBranchIn(MenuLeafIn):
    """An item of a menu that can have children.

    Items of the third level, the lowest one, cannot.
    """

    children: list[MenuLeafIn] = Field([], max_length=MAX_MENU_ITEMS, examples=[None])


class MenuItemIn(MenuBranchIn):
    """A top-level item of a menu.

    It links to a page of the site by id or to an address, or only groups its children.
    """

    children: list[MenuBranchIn] = Field(  # type: ignore[assignment]
        [],
        max_length=MAX_MENU_ITEMS,
        examples=[[{"id": "cards", "label": "Punched cards", "type": "url", "url": "/looms/cards"}]],
    )


class MenuPut(Input):
    """A complete menu, which replaces the one with the same id.

    The items form at most three levels.
    """

    name: Name = Field(examples=["Main menu"])
    items: list[MenuItemIn] = Field(
        [], max_length=MAX_MENU_ITEMS, description="At most three levels deep, 200 in all, and 64 KiB as JSON."
    )


class MenuItemOut(Output):
    """An item of a menu, as visitors see it.

    `dangling` is true if its page was deleted, and `path` is null if its page is not published.
    """

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
    """A menu in a list, without its items.

    Its id is the name that you chose, such as `footer`.
    """

    id: str = Field(description="Id chosen by the caller.", examples=["main"])
    site_id: Uuid
    name: str = Field(examples=["Main menu"])


class MenuOut(MenuSummary):
    """A menu of a site, such as the main menu or the footer.

    Items that link to pages have the pages' current paths.
    """

    items: list[MenuItemOut] = Field(description="Items in the order in which they were sent.")

"""What the operations on platforms accept and answer."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.features.platforms.nested_items import NothingBelow
from chalicelib.kernel.http.fields import (
    ElementId,
    Identifier,
    JsonObject,
    Locale,
    Name,
    Slug,
    Text,
    Timestamp,
    Uuid,
    WebUrl,
    lower_case,
    matching,
)
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, RecordOutput

JoinPolicy = Literal["open", "invite"]
Status = Literal["draft", "published"]
ItemType = Literal["page", "space", "module", "url", "group"]

_MOST_ITEMS: Final = 50
_MOST_NAMES: Final = 100
_MOST_TOKEN_CHARACTERS: Final = 200
_PLAIN_ADVICE: Final = "must be text without any of < > { } ; and of 200 characters at most, a number, true or false"

Color = Annotated[
    str,
    BeforeValidator(lower_case),
    *matching("^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", "must be a colour as #rgb, #rrggbb or #rrggbbaa"),
]
Target = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _tokens(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    for name, token in value.items():
        where = f"{path}/{name}"
        if isinstance(token, dict):
            _tokens(token, where)
        elif token is None or isinstance(token, list) or (isinstance(token, str) and not _is_plain(token)):
            raise ValueError(f"{where[:100]} {_PLAIN_ADVICE}")
    return value


def _is_plain(text: str) -> bool:
    """Return whether text can stand in a style sheet without ending what it stands in."""
    return len(text) <= _MOST_TOKEN_CHARACTERS and text.isprintable() and not set(text) & set("<>{};")


def _font(text: str) -> str:
    if not _is_plain(text):
        raise ValueError("must be the name of a font family, without any of < > { } ;")
    return text


Font = Annotated[Name, AfterValidator(_font)]


class PlatformCreate(Input):
    """A new platform."""

    organization_id: Uuid = Field(description="Whose it is, for good.")
    name: Name = Field(examples=["Engines"])
    slug: Slug | None = Field(None, description="Left out, it is derived from the name.", examples=[None])
    description: Text | None = Field(None, examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field("invite", description="`open`: anyone may join once it is published.")
    default_locale: Locale = Field("en", description="BCP 47.", examples=["en"])


class PlatformPatch(Patch):
    """What of a platform can be changed here; theme, navigation, home and publishing have operations of their own."""

    name: Name = Field(examples=["Engines"])
    slug: Slug = Field(description="The former slug is free at once.", examples=["engines"])
    description: Text | None = Field(None, examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field("invite", examples=["open"])
    default_locale: Locale = Field("en", examples=["en"])


class Publication(Input):
    """Whether the platform is to be published."""

    published: bool = True


class ThemePatch(Patch):
    """What a platform looks like."""

    part = "theme"

    mode: Literal["light", "dark", "auto"] | None = None
    colors: dict[Identifier, Color] = Field(
        {},
        max_length=_MOST_NAMES,
        description="By name. What `text` on `background`, `onPrimary` on `primary` and "
        "the like lack in contrast is told in `warnings`.",
        examples=[{"text": "#1a1a1a", "background": "#ffffff"}],
    )
    fonts: dict[Identifier, Font] = Field(
        {}, max_length=_MOST_NAMES, description="Families by use.", examples=[{"body": "Source Sans 3"}]
    )
    logo_url: WebUrl | None = Field(None, examples=["https://example.com/logo.svg"])
    favicon_url: WebUrl | None = Field(None, examples=["https://example.com/favicon.ico"])
    tokens: Annotated[JsonObject, AfterValidator(_tokens)] = Field(
        {}, description="Design tokens: text, numbers or booleans by name, in groups.", examples=[{"radius": "4px"}]
    )


class NavigationLeafIn(Input):
    """An item of a navigation."""

    id: ElementId = Field(examples=["start"])
    label: Name = Field(examples=["Start"])
    type: ItemType = Field(examples=["space"])
    target: Target | None = Field(
        None,
        description="What it leads to: an id or a path; of `url` an http(s) or mail address, or a path.",
        examples=["/spaces/looms"],
    )
    children: NothingBelow = Field([], examples=[[]])


class NavigationBranchIn(NavigationLeafIn):
    """An item of a navigation that may have items below."""

    children: list[NavigationLeafIn] = Field([], max_length=_MOST_ITEMS, examples=[[]])


class NavigationItemIn(NavigationBranchIn):
    """An item of a navigation, at the top."""

    children: list[NavigationBranchIn] = Field([], max_length=_MOST_ITEMS, examples=[[]])  # type: ignore[assignment]


class NavigationPatch(Patch):
    """Where a platform leads to, three levels deep at most. Ids are different from each other."""

    part = "navigation"

    items: list[NavigationItemIn] = Field([], max_length=_MOST_ITEMS)


class HomeBlockIn(Input):
    """A block of a platform's home."""

    id: ElementId = Field(examples=["welcome"])
    type: Identifier = Field(examples=["hero"])
    settings: JsonObject = Field({}, examples=[{"title": "Welcome"}])


class HomePatch(Patch):
    """What a platform begins with. Ids of blocks are different from each other."""

    part = "home"

    layout: Name | None = Field(None, examples=["two-columns"])
    blocks: list[HomeBlockIn] = Field([], max_length=_MOST_ITEMS)
    space_id: Uuid | None = Field(None, description="The space that it opens.", examples=[None])
    site_id: Uuid | None = Field(None, description="The site that it opens.", examples=[None])


class ThemeOut(Output):
    """What a platform looks like."""

    mode: Literal["light", "dark", "auto"] | None = Field(None, examples=["light"])
    colors: dict[str, str] = Field({}, examples=[{"text": "#1a1a1a", "background": "#ffffff"}])
    fonts: dict[str, str] = Field({}, examples=[{"body": "Source Sans 3"}])
    logo_url: str | None = Field(None, examples=["https://example.com/logo.svg"])
    favicon_url: str | None = Field(None, examples=["https://example.com/favicon.ico"])
    tokens: dict[str, Any] = Field({}, examples=[{"radius": "4px"}])


class NavigationItemOut(Output):
    """An item of a navigation."""

    id: str = Field(examples=["start"])
    label: str = Field(examples=["Start"])
    type: ItemType = Field(examples=["space"])
    target: str | None = Field(None, examples=["/spaces/looms"])
    children: list["NavigationItemOut"] = Field([], examples=[[]])


class NavigationOut(Output):
    """Where a platform leads to."""

    items: list[NavigationItemOut] = Field([])


class HomeBlockOut(Output):
    """A block of a platform's home."""

    id: str = Field(examples=["welcome"])
    type: str = Field(examples=["hero"])
    settings: dict[str, Any] = Field({}, examples=[{"title": "Welcome"}])


class HomeOut(Output):
    """What a platform begins with."""

    layout: str | None = Field(None, examples=["two-columns"])
    blocks: list[HomeBlockOut] = Field([])
    space_id: Uuid | None = Field(None, examples=[None])
    site_id: Uuid | None = Field(None, examples=[None])


class Warned(Output):
    """What the service keeps as it was sent, although it will hinder people."""

    pointer: str = Field(description="Where in the theme.", examples=["/colors/text"])
    code: Literal["low_contrast"] = Field(examples=["low_contrast"])
    detail: str = Field(examples=["text on background has a contrast of 3.2:1; text that people can read has 4.5:1."])


class PlatformSummary(RecordOutput):
    """A platform as lists show it."""

    organization_id: Uuid
    name: str = Field(examples=["Engines"])
    slug: str = Field(examples=["engines"])
    description: str | None = Field(examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field(examples=["invite"])
    default_locale: str = Field(examples=["en"])
    status: Status = Field(examples=["draft"])
    published_at: Timestamp | None = Field(description="Since when; null while it is a draft.", examples=[None])
    subdomain: str = Field(description="By which it is reached at any time.", examples=["engines"])


class PlatformOut(PlatformSummary):
    """A platform."""

    theme: ThemeOut
    navigation: NavigationOut
    home: HomeOut
    warnings: list[Warned] = Field(description="What in its theme people could not read.", examples=[[]])


class PlatformsQuery(ListQuery):
    """Which of the caller's platforms."""

    organization_id: Uuid | None = Field(None, description="Those of one organization.", examples=[None])
    status: Status | None = None

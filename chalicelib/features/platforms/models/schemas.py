"""Request and response models of the platform operations."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.features.platforms.models.nested_items import NoChildren
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
    ascii_lower_if_text,
    pattern_validator_and_schema,
)
from chalicelib.kernel.http.models import Input, NamedListQuery, Output, Patch, RecordOutput
from chalicelib.kernel.permissions.roles import Role

JoinPolicy = Literal["open", "invite"]
PlatformStatus = Literal["draft", "published"]
NavigationItemType = Literal["page", "space", "module", "url", "group"]

_MAX_ITEMS: Final = 50
"""Items below one navigation item, and blocks of a platform's home."""

_MAX_THEME_ENTRIES: Final = 100
"""Entries of each group of a theme, such as its colours."""

_MAX_TOKEN_CHARACTERS: Final = 200
"""Length of a text in a theme."""

_CSS_VALUE_ADVICE: Final = (
    "must be text without any of < > { } ; and of 200 characters at most, a number, true or false"
)

Color = Annotated[
    str,
    BeforeValidator(ascii_lower_if_text),
    *pattern_validator_and_schema(
        "^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", "must be a colour as #rgb, #rrggbb or #rrggbbaa"
    ),
]
NavigationTarget = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _validate_theme_tokens(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    for name, token in value.items():
        pointer = f"{path}/{name}"
        if isinstance(token, dict):
            _validate_theme_tokens(token, pointer)
        elif token is None or isinstance(token, list) or (isinstance(token, str) and not _is_safe_in_css(token)):
            raise ValueError(f"{pointer[:100]} {_CSS_VALUE_ADVICE}")
    return value


def _is_safe_in_css(text: str) -> bool:
    """Return whether text can be inserted into a style sheet without closing the surrounding declaration."""
    return len(text) <= _MAX_TOKEN_CHARACTERS and text.isprintable() and not set(text) & set("<>{};")


def _validate_font_family(text: str) -> str:
    if not _is_safe_in_css(text):
        raise ValueError("must be the name of a font family, without any of < > { } ;")
    return text


FontFamily = Annotated[Name, AfterValidator(_validate_font_family)]


class PlatformCreate(Input):
    """A platform to create.

    The join policy decides who can become a member once it is published: everybody, or invited people only.
    """

    organization_id: Uuid = Field(description="The owning organization. It cannot be changed later.")
    name: Name = Field(examples=["Engines"])
    slug: Slug | None = Field(None, description="Derived from the name if omitted.", examples=[None])
    description: Text | None = Field(None, examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field("invite", description="`open`: anyone may join the published platform.")
    default_locale: Locale = Field("en", description="BCP 47 language tag.", examples=["en"])


class PlatformPatch(Patch):
    """Changes to the name, slug, description, join policy and default locale of a platform.

    Theme, navigation, home and publication have separate operations.
    """

    name: Name = Field(examples=["Engines"])
    slug: Slug = Field(description="The former slug becomes available at once.", examples=["engines"])
    description: Text | None = Field(None, examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field("invite", examples=["open"])
    default_locale: Locale = Field("en", examples=["en"])


class Publication(Input):
    """Whether the platform is published.

    Without the field the platform is published; false makes it a draft again.
    """

    published: bool = True


class ThemePatch(Patch):
    """Changes to the theme of a platform.

    `tokens` are any further values that your front end uses, such as a corner radius.
    """

    part = "theme"

    mode: Literal["light", "dark", "auto"] | None = None
    colors: dict[Identifier, Color] = Field(
        {},
        max_length=_MAX_THEME_ENTRIES,
        description="Colours by name. `warnings` lists pairs such as `text` on `background` with too little contrast.",
        examples=[{"text": "#1a1a1a", "background": "#ffffff"}],
    )
    fonts: dict[Identifier, FontFamily] = Field(
        {}, max_length=_MAX_THEME_ENTRIES, description="Font families by usage.", examples=[{"body": "Source Sans 3"}]
    )
    logo_url: WebUrl | None = Field(None, examples=["https://example.com/logo.svg"])
    favicon_url: WebUrl | None = Field(None, examples=["https://example.com/favicon.ico"])
    tokens: Annotated[JsonObject, AfterValidator(_validate_theme_tokens)] = Field(
        {}, description="Design tokens: groups of text, numbers or booleans by name.", examples=[{"radius": "4px"}]
    )


class NavigationLeafIn(Input):
    """A navigation item on the lowest level.

    It has a target like every other item, but no children.
    """

    id: ElementId = Field(examples=["start"])
    label: Name = Field(examples=["Start"])
    type: NavigationItemType = Field(examples=["space"])
    target: NavigationTarget | None = Field(
        None,
        description="Where the item leads: an id or a path. For type `url`, an http(s) or mailto URL, or a path.",
        examples=["/spaces/looms"],
    )
    children: NoChildren = Field([], examples=[None])


class NavigationBranchIn(NavigationLeafIn):
    """A navigation item that may have child items, on the second level of the navigation.

    Its children are on the last level.
    """

    children: list[NavigationLeafIn] = Field([], max_length=_MAX_ITEMS, examples=[None])


class NavigationItemIn(NavigationBranchIn):
    """A top-level navigation item to store.

    Choose an id that is unique in the navigation; it identifies the item in your front end.
    """

    children: list[NavigationBranchIn] = Field(  # type: ignore[assignment]
        [],
        max_length=_MAX_ITEMS,
        examples=[[{"id": "looms", "label": "Looms", "type": "url", "target": "https://example.com/looms"}]],
    )


class NavigationPatch(Patch):
    """The navigation of a platform, at most three levels deep.

    Item ids are unique, and the new items replace all former ones.
    """

    part = "navigation"

    items: list[NavigationItemIn] = Field([], max_length=_MAX_ITEMS)


class HomeBlockIn(Input):
    """A block of a platform's home page to store.

    Choose an id that is unique on the page, and a type that your front end knows.
    """

    id: ElementId = Field(examples=["welcome"])
    type: Identifier = Field(examples=["hero"])
    settings: JsonObject = Field({}, examples=[{"title": "Welcome"}])


class HomePatch(Patch):
    """Changes to the home page of a platform.

    Block ids are unique, and a new list of blocks replaces the former one.
    """

    part = "home"

    layout: Name | None = Field(None, examples=["two-columns"])
    blocks: list[HomeBlockIn] = Field([], max_length=_MAX_ITEMS)
    space_id: Uuid | None = Field(None, description="The space that the home page opens.", examples=[None])
    site_id: Uuid | None = Field(None, description="The site that the home page opens.", examples=[None])


class ThemeOut(Output):
    """The colours, fonts and logos of a platform, which your front end applies.

    Colours with too little contrast appear in `warnings`.
    """

    mode: Literal["light", "dark", "auto"] | None = Field(None, examples=["light"])
    colors: dict[str, str] = Field({}, examples=[{"text": "#1a1a1a", "background": "#ffffff"}])
    fonts: dict[str, str] = Field({}, examples=[{"body": "Source Sans 3"}])
    logo_url: str | None = Field(None, examples=["https://example.com/logo.svg"])
    favicon_url: str | None = Field(None, examples=["https://example.com/favicon.ico"])
    tokens: dict[str, Any] = Field({}, examples=[{"radius": "4px"}])


class NavigationItemOut(Output):
    """A navigation item, which leads to a space, a page, a module or an address.

    `type` says what the target is.
    """

    id: str = Field(examples=["start"])
    label: str = Field(examples=["Start"])
    type: NavigationItemType = Field(examples=["space"])
    target: str | None = Field(None, examples=["/spaces/looms"])
    children: list["NavigationItemOut"] = Field([], examples=[[]])


class NavigationOut(Output):
    """The navigation of a platform, which your front end shows as its menu.

    Items that the caller cannot open are omitted.
    """

    items: list[NavigationItemOut] = Field([])


class HomeBlockOut(Output):
    """A block of a platform's home page.

    Your front end gives the type and the settings their meaning; Atrium stores them as they are.
    """

    id: str = Field(examples=["welcome"])
    type: str = Field(examples=["hero"])
    settings: dict[str, Any] = Field({}, examples=[{"title": "Welcome"}])


class HomeOut(Output):
    """The home page of a platform, which your front end renders from the layout and its blocks.

    It may name a space or a site to open.
    """

    layout: str | None = Field(None, examples=["two-columns"])
    blocks: list[HomeBlockOut] = Field([])
    space_id: Uuid | None = Field(None, examples=[None])
    site_id: Uuid | None = Field(None, examples=[None])


class Warned(Output):
    """A problem with a value that the service accepted.

    The change took effect; fix the value if people should be able to use the result.
    """

    pointer: str = Field(
        description="JSON Pointer into the theme, or into the request that changed modules.", examples=["/colors/text"]
    )
    code: Literal["low_contrast", "similar_id"] = Field(
        description="`low_contrast`: colours that are hard to read. `similar_id`: a new module whose id is similar to"
        " the id of another module.",
        examples=["low_contrast"],
    )
    detail: str = Field(examples=["text on background has a contrast of 3.2:1; text that people can read has 4.5:1."])


class PlatformSummary(RecordOutput):
    """A platform in a list, without its theme, navigation and home page.

    Get the platform to read those.
    """

    organization_id: Uuid
    name: str = Field(examples=["Engines"])
    slug: str = Field(examples=["engines"])
    description: str | None = Field(examples=["Where the engines are discussed."])
    join_policy: JoinPolicy = Field(examples=["invite"])
    default_locale: str = Field(examples=["en"])
    status: PlatformStatus = Field(examples=["draft"])
    published_at: Timestamp | None = Field(
        description="When it was published; null while it is a draft.", examples=[None]
    )
    subdomain: str = Field(description="The permanent subdomain of the platform.", examples=["engines"])


class PlatformSummaryListItem(PlatformSummary):
    """A platform in a list of the caller's platforms, with the role of the caller.

    A front end uses the role to decide which settings it shows. The service checks the role in each request.
    """

    role: Role | None = Field(
        None,
        description=(
            "The caller's role in it: that of their membership, `admin` for admins of the organization, otherwise"
            " `member`. An API key has the role of its general scopes."
        ),
        examples=["admin"],
    )


class PlatformOut(PlatformSummary):
    """A product or community that an organization offers, with its theme, navigation and home page.

    It is a draft until it is published.
    """

    theme: ThemeOut
    navigation: NavigationOut
    home: HomeOut
    warnings: list[Warned] = Field(description="Colour pairs of the theme that are hard to read.", examples=[[]])


class PlatformsQuery(NamedListQuery):
    """Filters of the list of platforms."""

    organization_id: Uuid | None = Field(None, description="Only the platforms of this organization.", examples=[None])
    status: PlatformStatus | None = None

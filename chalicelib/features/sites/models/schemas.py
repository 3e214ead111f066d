"""Request and response models of the site operations."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import Locale, Name, Slug, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput

SiteStatus = Literal["draft", "published"]

_MAX_PATHS: Final = 100
"""Paths in `disallow` of the rules for crawlers."""

_PUBLISHED_EXAMPLE: Final = {"status": "published", "published_at": "2026-11-20T09:30:00.000Z"}
_ROBOTS_PATH: Final = re.compile(r"[/*][^\s#]*")
_ROBOTS_LINE: Final = re.compile(r"\s*(?:#.*|[A-Za-z][A-Za-z-]*\s*:.*)?")


def _validate_robots_path(text: str) -> str:
    if not _ROBOTS_PATH.fullmatch(text):
        raise ValueError("must be a path that begins with / and contains no spaces and no #")
    return text


def _validate_robots_txt_lines(text: str) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if not _ROBOTS_LINE.fullmatch(line):
            raise ValueError(f"must have lines such as `Disallow: /drafts` or `# comment`; line {number} is different")
    return text


class RobotsIn(Input):
    """Instructions for crawlers to store.

    Each path in `disallow` applies to everything that begins with it. The sitemap omits pages at these paths.
    """

    disallow: list[Annotated[str, StringConstraints(max_length=500), AfterValidator(_validate_robots_path)]] = Field(
        [],
        max_length=_MAX_PATHS,
        description="Paths, for all crawlers. `*` stands for any text, and `$` at the end for the end of the path.",
        examples=[["/drafts"]],
    )
    extra: Annotated[Text, AfterValidator(_validate_robots_txt_lines)] | None = Field(
        None, description="Further lines of robots.txt.", examples=[None]
    )


class SiteCreate(Input):
    """A site to create.

    Nobody outside of the organization sees it until it is published. Assign it to a platform if it should use the
    platform's custom domain.
    """

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug | None = Field(None, description="Derived from the name if omitted.", examples=[None])
    description: Text | None = Field(None, examples=["All about the engines."])
    default_locale: Locale = Field("en", description="Language of its pages (BCP 47).", examples=["en"])
    platform_id: Uuid | None = Field(
        None,
        description="A platform of the organization, whose theme and verified custom domain the site uses.",
        examples=[None],
    )
    robots: RobotsIn = Field(default_factory=lambda: RobotsIn(disallow=[], extra=None))


class SitePatch(Patch):
    """Changes to a site.

    `status` publishes it, or turns it into a draft again that only members see.
    """

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug = Field(
        description="The slug is part of the host. The former host redirects for 90 days.",
        examples=["engines"],
    )
    description: Text | None = Field(None, examples=["All about the engines."])
    default_locale: Locale = Field("en", examples=["en"])
    platform_id: Uuid | None = Field(None, examples=[None])
    robots: RobotsIn = Field(default_factory=lambda: RobotsIn(disallow=[], extra=None))
    status: SiteStatus = Field("draft", description="`published` shows the site to everybody.", examples=["published"])


class RobotsOut(Output):
    """Instructions for crawlers, which become the robots.txt of the site.

    Well-behaved crawlers follow them; they protect nothing.
    """

    disallow: list[str] = Field([], examples=[["/drafts"]])
    extra: str | None = Field(None, examples=[None])


class SiteOut(RecordOutput):
    """A website of an organization, with pages, menus and redirects.

    Visitors find it at its host once it is published.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = dict.fromkeys(
        ("site.published", "site.updated", "site.deleted"), _PUBLISHED_EXAMPLE
    )

    organization_id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["engines"])
    description: str | None = Field(examples=["All about the engines."])
    default_locale: str = Field(examples=["en"])
    platform_id: Uuid | None
    robots: RobotsOut
    status: SiteStatus = Field(examples=["draft"])
    published_at: Timestamp | None = Field(
        description="When the site was published. Null while it is a draft.", examples=[None]
    )
    host: str = Field(
        description=(
            "The verified custom domain of the platform or, without one, a host of the service. Events and log entries"
            " contain the host of the service, since they describe the stored site and not its platform's domain."
        ),
        examples=["engines.sites.atrium.localhost"],
    )
    home_page_id: Uuid | None = Field(description="The page at `/`. Null if there is none.")

"""What the operations on sites accept and answer."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import Locale, Name, Slug, Text, Timestamp, Uuid
from chalicelib.kernel.http.models import Input, Output, Patch, RecordOutput

Status = Literal["draft", "published"]

_MOST_PATHS: Final = 100
_PUBLIC: Final = {"status": "published", "published_at": "2026-11-20T09:30:00.000Z"}
_PATH: Final = re.compile(r"[/*][^\s#]*")
_LINE: Final = re.compile(r"\s*(?:#.*|[A-Za-z][A-Za-z-]*\s*:.*)?")


def _path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("must be a path that begins with /, without blanks and #")
    return text


def _directives(text: str) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if not _LINE.fullmatch(line):
            raise ValueError(f"must have lines such as `Disallow: /drafts` or `# why`; line {number} is none")
    return text


class RobotsIn(Input):
    """What crawlers are asked to leave alone."""

    disallow: list[Annotated[str, StringConstraints(max_length=500), AfterValidator(_path)]] = Field(
        [], max_length=_MOST_PATHS, description="Paths, for all crawlers.", examples=[["/drafts"]]
    )
    extra: Annotated[Text, AfterValidator(_directives)] | None = Field(
        None, description="Further lines of robots.txt, as they are.", examples=[None]
    )


class SiteCreate(Input):
    """A new site."""

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug | None = Field(None, description="Left out, it is derived from the name.", examples=[None])
    description: Text | None = Field(None, examples=["All about the engines."])
    default_locale: Locale = Field("en", description="BCP 47: the language of its pages.", examples=["en"])
    platform_id: Uuid | None = Field(
        None,
        description="A platform of the organization: it lends its theme and, once verified, its custom domain.",
        examples=[None],
    )
    robots: RobotsIn = Field(default_factory=lambda: RobotsIn(disallow=[], extra=None))


class SitePatch(Patch):
    """What of a site can be changed."""

    name: Name = Field(examples=["Analytical Engines"])
    slug: Slug = Field(
        description="The host that it is part of changes with it; the former one leads here for 90 days.",
        examples=["engines"],
    )
    description: Text | None = Field(None, examples=["All about the engines."])
    default_locale: Locale = Field("en", examples=["en"])
    platform_id: Uuid | None = Field(None, examples=[None])
    robots: RobotsIn = Field(default_factory=lambda: RobotsIn(disallow=[], extra=None))
    status: Status = Field("draft", description="`published` shows it to everybody.", examples=["published"])


class RobotsOut(Output):
    """What crawlers are asked to leave alone."""

    disallow: list[str] = Field([], examples=[["/drafts"]])
    extra: str | None = Field(None, examples=[None])


class SiteOut(RecordOutput):
    """A site."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = dict.fromkeys(
        ("site.published", "site.updated", "site.deleted"), _PUBLIC
    )

    organization_id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["engines"])
    description: str | None = Field(examples=["All about the engines."])
    default_locale: str = Field(examples=["en"])
    platform_id: Uuid | None
    robots: RobotsOut
    status: Status = Field(examples=["draft"])
    published_at: Timestamp | None = Field(description="Since when; null while it is a draft.", examples=[None])
    host: str = Field(
        description="Where it is: the verified custom domain of its platform or, without one, a name of the service.",
        examples=["engines.sites.atrium.localhost"],
    )
    home_page_id: Uuid | None = Field(description="The page at `/`; null while there is none.")

"""What visits are answered."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.pages.models.schemas import PageOut, Path
from chalicelib.kernel.http.models import Output, Query


class ResolveQuery(Query):
    """Where somebody wants to go."""

    host: Annotated[str, StringConstraints(max_length=1000)] = Field(
        description="As the browser names it, with a port or not.", examples=["engines.sites.atrium.localhost"]
    )
    path: Path = Field("/", examples=["/looms"])


class SitemapQuery(Query):
    """Which part of a sitemap."""

    page: int | None = Field(
        None, ge=1, description="The number of a part; left out, the sitemap or the index of them.", examples=[None]
    )


class RedirectedOut(Output):
    """Where a visitor is sent."""

    location: str = Field(description="A path of the site, or a web address.", examples=["/looms"])
    status_code: Literal[301, 302, 307, 308] = Field(examples=[308])


class VisitOut(Output):
    """What is at a host and path."""

    content_etag = True

    site: SiteOut
    match: Literal["page", "redirect", "none"] = Field(examples=["page"])
    page: PageOut | None = Field(description="With `match` = `page`: that page, as it is published.")
    redirect: RedirectedOut | None = Field(description="With `match` = `redirect`: where that leads.")

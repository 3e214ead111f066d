"""Requests and responses of visits."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.pages.models.schemas import PageOut, UrlPath
from chalicelib.kernel.http.models import Output, Query


class ResolveQuery(Query):
    """The host and path that somebody visits."""

    host: Annotated[str, StringConstraints(max_length=1000)] = Field(
        description="Host of the request, with or without a port.", examples=["engines.sites.atrium.localhost"]
    )
    path: UrlPath = Field("/", examples=["/looms"])


class SitemapQuery(Query):
    """Which part of a sitemap."""

    page: int | None = Field(
        None, ge=1, description="Number of a part. If omitted, the sitemap or the index of its parts.", examples=[None]
    )


class RedirectedOut(Output):
    """The destination of a redirect."""

    location: str = Field(description="A path of the site, or a web address.", examples=["/looms"])
    status_code: Literal[301, 302, 307, 308] = Field(examples=[308])


class VisitOut(Output):
    """The content at a host and path."""

    content_etag = True

    site: SiteOut
    match: Literal["page", "redirect", "none"] = Field(examples=["page"])
    page: PageOut | None = Field(description="With `match` = `page`: the published page.")
    redirect: RedirectedOut | None = Field(description="With `match` = `redirect`: its destination.")

"""Request and response models of the visit operations."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.sites.models.schemas import SiteOut
from chalicelib.features.sites.pages.models.schemas import PageOut, UrlPath
from chalicelib.kernel.http.models import Output, Query

SitemapPartNumber = Annotated[int, Field(ge=1)] | None


class ResolveQuery(Query):
    """The host and path of a visit."""

    host: Annotated[str, StringConstraints(max_length=1000)] = Field(
        description="The host of the visit, with or without a port.", examples=["engines.sites.atrium.localhost"]
    )
    path: UrlPath = Field("/", examples=["/looms"])
    page: SitemapPartNumber = Field(
        None, description="Number of a part if the path is `/sitemap.xml`. HTML only.", examples=[None]
    )


class SitemapQuery(Query):
    """The part of a sitemap to return."""

    page: SitemapPartNumber = Field(
        None, description="Number of a part; the sitemap, or the index of its parts, if omitted.", examples=[None]
    )


class RedirectedOut(Output):
    """The destination of a redirect for a visitor.

    Your server or CDN sends the location with the status code.
    """

    location: str = Field(description="A path of the site, or a web address.", examples=["/looms"])
    status_code: Literal[301, 302, 307, 308] = Field(examples=[308])


class VisitOut(Output):
    """The content at a host and path: a published page, a redirect, or nothing.

    Your server or CDN turns it into the response to a visitor.
    """

    content_etag = True

    site: SiteOut
    match: Literal["page", "redirect", "none"] = Field(examples=["page"])
    page: PageOut | None = Field(description="The published page if `match` is `page`, else null.")
    redirect: RedirectedOut | None = Field(description="The redirect if `match` is `redirect`, else null.")

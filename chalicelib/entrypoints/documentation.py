"""The OpenAPI document, the pages of the documentation, and their files.

`make generate` writes the pages, so that they appear at once and the service renders nothing.

The files include `verify.py`, the script that verifies exports and receipts of an audit log without the service. Its
text is in a file with another ending, because the package of the service contains no source files.
"""

from html import escape
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from chalicelib.entrypoints.static_files import (
    IMMUTABLE,
    PAGE_HEADERS,
    REVALIDATED,
    fingerprint,
    read_text,
    respond_with_file,
)
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import pattern_validator_and_schema
from chalicelib.kernel.http.models import Output, Query
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("documentation")

_FOLDER: Final = Path(__file__).parent / "docs"
_PAGES: Final = _FOLDER / "pages"
_ASSETS: Final = {
    "docs.css": _FOLDER / "docs.css",
    "docs.js": _FOLDER / "docs.js",
    "favicon.svg": _FOLDER / "favicon.svg",
    "minisearch.js": _FOLDER / "vendor/minisearch.js",
    "search.json": _PAGES / "search.json",
    "llms.txt": _PAGES / "llms.txt",
    "verify.py": _FOLDER / "verify.txt",
}
_AssetName = Annotated[
    str, *pattern_validator_and_schema(r"^[a-z0-9.-]{1,64}$", "must be the name of a page or of a file of the pages")
]
_BASE: Final = "%BASE%"
"""Stands for the path of the service in the links of the pages."""

# The pages load nothing from other hosts, and send requests to none.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    **PAGE_HEADERS,
}


class AssetQuery(Query):
    """The requested version of a file."""

    v: str | None = Field(None, description="The file's fingerprint. With it, the response can be cached for a year.")


class ServiceLinks(Output):
    """The paths at which a client of this service starts.

    Each path is relative to the base URL of the service. The OpenAPI document describes all others.
    """

    docs: str = Field(description="The documentation page.", examples=["/docs"])
    openapi: str = Field(description="The OpenAPI document.", examples=["/openapi.json"])
    status: str = Field(description="The status of the service, without a credential.", examples=["/status"])
    event_types: str = Field(description="The events to which webhooks can subscribe.", examples=["/event-types"])
    me: str = Field(description="The caller and their credential.", examples=["/me"])
    organizations: str = Field(description="The caller's organizations.", examples=["/organizations"])


@routes.get("/", access=Caller.PUBLIC, scope=None, emits=None)
def get_service_links(ctx: Context) -> ServiceLinks | Annotated[Redirect, 302]:
    """Get links to the documentation and to the first operations to call. Browsers are redirected to `/docs`."""
    ctx.headers["Vary"] = "Accept"
    if ctx.request.prefers("text/html", "application/json"):
        return Redirect("/docs", 302)
    base = ctx.request.base
    return ServiceLinks(
        docs=f"{base}/docs",
        openapi=f"{base}/openapi.json",
        status=f"{base}/status",
        event_types=f"{base}/event-types",
        me=f"{base}/me",
        organizations=f"{base}/organizations",
    )


@routes.get("/openapi.json", access=Caller.PUBLIC, scope=None, emits=None)
def get_openapi_document(_ctx: Context) -> Annotated[RawResponse, "application/json"]:
    """Get the OpenAPI 3.1 document of this API.

    Use it to generate a client, to validate requests, or to import the API into a tool. It is the document of the
    running version, and needs no credential.
    """
    return RawResponse(read_text(_FOLDER / "openapi.json"), "application/json", {"Cache-Control": "no-cache"})


@routes.get("/docs", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get the first page of the documentation: the API reference, and the guides beside it.

    The pages need no credential and load nothing from other hosts.
    """
    return _respond_with_file(ctx, _PAGES / "index.html")


@routes.get("/docs/{asset}", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs_asset(
    ctx: Context, asset: _AssetName, query: AssetQuery
) -> Annotated[
    RawResponse,
    "text/html",
    "text/markdown",
    "text/plain",
    "text/javascript",
    "text/css",
    "application/json",
    "image/svg+xml",
    "text/x-python",
]:
    """Get a page of the documentation, such as `tour`, or a file: its Markdown, a script, a stylesheet or an image.

    `tour.md` is the Markdown of the page `tour`. `verify.py` is a program that verifies exports and receipts of an
    audit log. Its first lines describe its usage.
    """
    if asset in _ASSETS:
        return _respond_with_file(ctx, _ASSETS[asset], query.v)
    page = _PAGES / (asset if asset.endswith((".md", ".svg")) else f"{asset}.html")
    if asset == "index" or not page.is_file():
        raise not_found()
    return _respond_with_file(ctx, page)


@routes.get("/llms.txt", access=Caller.PUBLIC, scope=None, emits=None)
def get_llms_text(ctx: Context) -> Annotated[RawResponse, "text/plain"]:
    """Get a list of the pages of the documentation for language models (llmstxt.org).

    Each page is Markdown.
    """
    return _respond_with_file(ctx, _ASSETS["llms.txt"])


def _respond_with_file(ctx: Context, file: Path, version: str | None = None) -> RawResponse:
    """Return a file. With `version`, its fingerprint, caches keep it for a year."""
    # Absolute paths also work below the path of a gateway's stage, and for the URL `/docs/`.
    text = read_text(file).replace(_BASE, escape(ctx.request.base))
    suffix = ".py" if file.name == "verify.txt" else file.suffix
    is_immutable = version is not None and version == fingerprint(file)
    return respond_with_file(text, suffix, _HEADERS, IMMUTABLE if is_immutable else REVALIDATED)

"""The OpenAPI document, the documentation page that shows it, and the files of that page.

The files include `verify.py`, the script that verifies exports and receipts of an audit log without the service. Its
text is in a file with another ending, because the package of the service contains no source files.
"""

import hashlib
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Annotated, Final

from pydantic import Field

from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import pattern_validator_and_schema
from chalicelib.kernel.http.models import Output, Query
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("documentation")

_FOLDER: Final = Path(__file__).parent / "docs"
_ASSETS: Final = {
    "docs.css": _FOLDER / "docs.css",
    "docs.js": _FOLDER / "docs.js",
    "favicon.svg": _FOLDER / "favicon.svg",
    "swagger-ui.css": _FOLDER / "vendor/swagger-ui.css",
    "swagger-ui-bundle.js": _FOLDER / "vendor/swagger-ui-bundle.js",
    "verify.py": _FOLDER / "verify.txt",
}
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
    ".svg": "image/svg+xml",
}
_AssetName = Annotated[
    str, *pattern_validator_and_schema(r"^[a-z0-9.-]{1,64}$", "must be the name of one of the page's files")
]
_FINGERPRINT_CHARACTERS: Final = 16

# The page loads nothing from other hosts, and sends requests to none, so a credential that is typed in stays here.
_PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
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
    return RawResponse(_read_text(_FOLDER / "openapi.json"), "application/json", {"Cache-Control": "no-cache"})


@routes.get("/docs", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get the documentation page, on which the operations can be read and tried out.

    The page shows the OpenAPI document. It accepts a token or an API key, sends requests only to this service, and
    loads nothing from other hosts.
    """
    return RawResponse(_render_docs_page(ctx.request.base), "text/html; charset=utf-8", _PAGE_HEADERS)


@routes.get("/docs/{asset}", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs_asset(
    _ctx: Context, asset: _AssetName, query: AssetQuery
) -> Annotated[RawResponse, "text/javascript", "text/css", "image/svg+xml", "text/x-python"]:
    """Get a file of the documentation page: a script, a stylesheet or an image.

    `verify.py` is a program that verifies exports and receipts of an audit log. Its first lines describe its usage.
    """
    if asset not in _ASSETS:
        raise not_found()
    text = _read_text(_ASSETS[asset])
    cache_control = "public, max-age=31536000, immutable" if query.v == _asset_fingerprint(asset) else "no-cache"
    headers = {"Cache-Control": cache_control, "X-Content-Type-Options": "nosniff"}
    return RawResponse(text, _MEDIA_TYPES[Path(asset).suffix], headers)


def _render_docs_page(base_path: str) -> str:
    # Absolute paths also work below the path of a gateway's stage, and for the URL `/docs/`.
    base_path = escape(base_path)
    asset_urls = {
        _template_variable_name(name): f"{base_path}/docs/{name}?v={_asset_fingerprint(name)}" for name in _ASSETS
    }
    return Template(_read_text(_FOLDER / "index.html")).substitute(asset_urls, base=base_path)


def _template_variable_name(asset_name: str) -> str:
    return asset_name.replace(".", "_").replace("-", "_")


@cache
def _asset_fingerprint(asset_name: str) -> str:
    return hashlib.sha256(_ASSETS[asset_name].read_bytes()).hexdigest()[:_FINGERPRINT_CHARACTERS]


@cache
def _read_text(file: Path) -> str:
    return file.read_text(encoding="utf-8")

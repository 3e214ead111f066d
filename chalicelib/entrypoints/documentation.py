"""What the service says about itself: its interface as a document, and a page to read it and try it out.

Beside the page stands the script that proves a log without the service.
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
from chalicelib.kernel.http.fields import matching
from chalicelib.kernel.http.models import Query
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("documentation")

_FOLDER: Final = Path(__file__).parent / "docs"
_VERIFIER: Final = "../../features/audit/exports/logic/verify.py"
_ASSETS: Final = {
    Path(file).name: _FOLDER / file
    for file in (
        "docs.css",
        "docs.js",
        "favicon.svg",
        "vendor/swagger-ui.css",
        "vendor/swagger-ui-bundle.js",
        _VERIFIER,
    )
}
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
    ".svg": "image/svg+xml",
}
_AssetName = Annotated[str, *matching(r"^[a-z0-9.-]{1,64}$", "must be the name of a file of the page")]
_FINGERPRINT_CHARACTERS: Final = 16

# Everything comes from this host, nothing is inline, and nothing goes anywhere else: a credential typed in stays here.
_PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class AssetQuery(Query):
    """Which state of a file is wanted."""

    v: str | None = Field(None, description="The file's fingerprint; with it, the answer may be kept for a year.")


@routes.get("/openapi.json", access=Caller.PUBLIC, scope=None, emits=None)
def get_openapi_document(_ctx: Context) -> Annotated[RawResponse, "application/json"]:
    """Get this interface as an OpenAPI 3.1 document."""
    return RawResponse(_text(_FOLDER / "openapi.json"), "application/json", {"Cache-Control": "no-cache"})


@routes.get("/docs", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get a page to read about the operations and to try them out."""
    return RawResponse(_page(ctx.request.base), "text/html; charset=utf-8", _PAGE_HEADERS)


@routes.get("/docs/{asset}", access=Caller.PUBLIC, scope=None, emits=None)
def get_docs_asset(
    _ctx: Context, asset: _AssetName, query: AssetQuery
) -> Annotated[RawResponse, "text/javascript", "text/css", "image/svg+xml", "text/x-python"]:
    """Get a script, stylesheet or picture of the page.

    `verify.py` is a program for those who keep parts of a log; where it begins it says how it is used.
    """
    if asset not in _ASSETS:
        raise not_found()
    text = _text(_ASSETS[asset])
    cache_control = "public, max-age=31536000, immutable" if query.v == _fingerprint(asset) else "no-cache"
    headers = {"Cache-Control": cache_control, "X-Content-Type-Options": "nosniff"}
    return RawResponse(text, _TYPES[_ASSETS[asset].suffix], headers)


def _page(base: str) -> str:
    # Absolute paths, so that the page also works below the path of a gateway's stage, and as `/docs/`.
    base = escape(base)
    addresses = {_placeholder(name): f"{base}/docs/{name}?v={_fingerprint(name)}" for name in _ASSETS}
    return Template(_text(_FOLDER / "index.html")).substitute(addresses, base=base)


def _placeholder(name: str) -> str:
    return name.replace(".", "_").replace("-", "_")


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256(_ASSETS[name].read_bytes()).hexdigest()[:_FINGERPRINT_CHARACTERS]


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")

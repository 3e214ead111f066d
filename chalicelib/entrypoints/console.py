"""The console: a static application in the browser, which calls the HTTP API like any other client.

`make console` builds the files in `console_bundle`. Screens have addresses behind `#`, and pages for people who are not
members have paths of their own.
"""

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field

from chalicelib.entrypoints.static_files import IMMUTABLE, PAGE_HEADERS, REVALIDATED, read_text, respond_with_file
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.core.settings import settings, split_list
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import pattern_validator_and_schema
from chalicelib.kernel.http.models import Query
from chalicelib.kernel.identity.discovery import discovery_url
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("console")

_BUNDLE: Final = Path(__file__).parent / "console_bundle"
_CONFIGURATION: Final = "${configuration}"
_BASE: Final = "${base}"

# Scripts cannot turn text into code or markup (Trusted Types), and no other site can frame a page. The policy
# `atrium-worker` of console/src/proof/run.ts accepts only the URL of the worker that proves long logs.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; worker-src 'self'; "
    "connect-src {origins}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types atrium-worker"
)
"""The Content-Security-Policy of the pages, without the origins to which they send requests."""
_AssetName = Annotated[
    str, *pattern_validator_and_schema(r"^[A-Za-z0-9_.-]{1,100}$", "must be the name of a file of the console")
]


class InvitationPageQuery(Query):
    """The token of an invitation, which only the page in the browser reads."""

    token: str | None = Field(None, description="The token of the invitation, as its `acceptUrl` contains it.")


@routes.get("/console", access=Caller.PUBLIC, scope=None, emits=None)
def get_console(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get the console, in which people use this API in a browser.

    They sign in at the issuer of `CONSOLE_DISCOVERY_URL`. The page sends the token only to this service.
    """
    return _respond_with_page(ctx, "index")


@routes.get("/console/{asset}", access=Caller.PUBLIC, scope=None, emits=None)
def get_console_asset(
    _ctx: Context, asset: _AssetName
) -> Annotated[RawResponse, "text/javascript", "text/css", "image/svg+xml"]:
    """Get a file of the console: a script, a stylesheet or an image.

    Its name contains its fingerprint, so caches can keep it for a year.
    """
    file = _BUNDLE / "assets" / asset
    if file.name not in asset_names():
        raise not_found()
    return respond_with_file(read_text(file), file.suffix, {"X-Content-Type-Options": "nosniff"}, IMMUTABLE)


@routes.get("/invitation", access=Caller.PUBLIC, scope=None, emits=None)
def get_invitation_page(
    ctx: Context,
    query: InvitationPageQuery,  # noqa: ARG001 - only the page in the browser reads it
) -> Annotated[RawResponse, "text/html"]:
    """Get the page on which an invited person accepts or declines. Its address has the invitation's `token`.

    Nothing changes until the person decides. The page removes the token from the address at once.
    """
    return _respond_with_page(ctx, "invitation")


@routes.get("/domain-setup", access=Caller.PUBLIC, scope=None, emits=None)
def get_domain_setup_page(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get the page of a signed link to a custom domain: the DNS records that it needs, and a check of them.

    The fragment of the address has the token of the link. Browsers do not send it, and the page removes it at once.
    """
    return _respond_with_page(ctx, "domain-setup")


@routes.get("/webhook-portal", access=Caller.PUBLIC, scope=None, emits=None)
def get_webhook_portal_page(ctx: Context) -> Annotated[RawResponse, "text/html"]:
    """Get the page of a signed link to a webhook: its deliveries, retries, tests and the rotation of its secret.

    The token of the link is in the fragment of the address, which browsers do not send. The page removes it at once.
    """
    return _respond_with_page(ctx, "webhook-portal")


def _respond_with_page(ctx: Context, name: str) -> RawResponse:
    base = ctx.request.base
    text = read_text(_BUNDLE / f"{name}.html").replace(_BASE, escape(base))
    policy = _POLICY.format(origins=" ".join(("'self'", *_issuer_origins())))
    headers = {"Content-Security-Policy": policy, **PAGE_HEADERS}
    page = text.replace(_CONFIGURATION, escape(_configuration_json(base)))
    return respond_with_file(page, ".html", headers, REVALIDATED)


def _configuration_json(base: str) -> str:
    current = settings()
    return json.dumps(
        {
            "apiBase": base,
            "clientId": current.console_client_id,
            "discoveryUrl": console_discovery_url(),
            "scope": current.console_scope,
            "audience": current.console_audience or None,
        }
    )


def console_discovery_url() -> str:
    """Return the URL of the discovery document of the issuer at which people sign in; empty if there is none."""
    current = settings()
    return current.console_discovery_url or (current.auth_issuer and discovery_url(current.auth_issuer))


def _issuer_origins() -> tuple[str, ...]:
    """Return the origins that the console calls to sign in."""
    if configured := settings().console_issuer_origins:
        return split_list(configured)
    url = urlsplit(console_discovery_url())
    return (f"{url.scheme}://{url.netloc}",) if url.netloc else ()


@cache
def asset_names() -> frozenset[str]:
    """Return the names of the scripts, stylesheets and images."""
    return frozenset(file.name for file in (_BUNDLE / "assets").iterdir())

"""The document in which an issuer describes itself (OpenID Connect Discovery 1.0, section 4)."""

from collections.abc import Mapping
from typing import Any

from chalicelib.kernel.core.problems import shorten_repr
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.http_urls import parse_http_url
from chalicelib.kernel.outbound.json_client import JsonNotReceived, get_json_object


def discovery_url(issuer: str) -> str:
    """Return the URL of an issuer's discovery document."""
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def fetch_discovery_document(issuer: str, seconds: float) -> dict[str, Any]:
    """Return the discovery document of an issuer. Raises JsonNotReceived if there is none that names this issuer."""
    url = require_https_unless_local("AUTH_ISSUER", discovery_url(issuer))
    document = get_json_object(url, seconds, {})
    if mismatch := describe_other_issuer_or_none(document, issuer):
        raise JsonNotReceived(mismatch)
    return document


def describe_other_issuer_or_none(document: Mapping[str, Any], issuer: str) -> str | None:
    """Return why a discovery document is not about an issuer, or None if it is."""
    named = document.get("issuer")
    if named == issuer:
        return None
    return (
        f"The discovery document names the issuer {shorten_repr(named)} instead of {issuer!r}, which"
        " must equal the `iss` of tokens exactly."
    )


def require_https_unless_local(name: str, url: object) -> str:
    """Return the URL, its host as ASCII, if it is an https URL, or an http URL on the local stage.

    Raises JsonNotReceived. `name`: what has the URL, for the message.
    """
    schemes = ("https", "http") if settings().stage == "local" else ("https",)
    try:
        return parse_https_url(url, schemes)
    except ValueError as error:
        raise JsonNotReceived(f"{name} is not an https URL: it {error}.") from None


def parse_https_url(url: object, schemes: tuple[str, ...] = ("https",)) -> str:
    """Return a URL of one of the schemes, its host as ASCII. Raises ValueError with the reason."""
    if not isinstance(url, str):
        raise ValueError("is missing, or is not text")  # noqa: TRY004 - the document has the wrong value
    parsed = parse_http_url(url)
    if parsed.scheme not in schemes:
        raise ValueError("must begin with https://")
    return str(parsed)

"""Discovery of an issuer's key set (OpenID Connect Discovery 1.0)."""

from ssl import SSLCertVerificationError
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.identity.discovery import describe_other_issuer_or_none, discovery_url, parse_https_url
from infrastructure.account import CommandError

_TIMEOUT: Final = urllib3.Timeout(connect=5, read=10)


def discover_jwks_url(issuer: str) -> str:
    """Return the URL of an issuer's key set. Raises CommandError if discovery fails.

    Unlike `fetch_discovery_document`, it needs no settings, and may connect to private addresses.
    """
    url = discovery_url(issuer)
    document = _fetch_document(url)
    if mismatch := describe_other_issuer_or_none(document, issuer):
        raise CommandError(f"{url}: {mismatch} Check ISSUER.")
    try:
        parse_https_url(document.get("jwks_uri"))
    except ValueError as error:
        raise CommandError(
            f"{url} contains no https URL of a key set: `jwks_uri` {error}. Pass one with JWKS=https://..."
        ) from None
    return str(document["jwks_uri"])


def discover_console_origins(url: str) -> str:
    """Return the origins that the console calls to sign in, separated by commas: those of discovery and of tokens.

    `url`: that of the discovery document. Raises CommandError if it cannot be read, or names no endpoint for tokens.
    """
    try:
        token_endpoint = parse_https_url(_fetch_document(url).get("token_endpoint"))
    except ValueError as error:
        raise CommandError(f"{url} contains no https URL for tokens: `token_endpoint` {error}.") from None
    origins = (f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, (url, token_endpoint)))
    return ",".join(dict.fromkeys(origins))


def _describe_failure(error: urllib3.exceptions.HTTPError) -> str:
    """Return why a request failed, without the names of Python's classes."""
    if isinstance(error, urllib3.exceptions.NameResolutionError):
        return "its name cannot be resolved"
    is_refused = isinstance(error, urllib3.exceptions.NewConnectionError)  # It also is a TimeoutError in urllib3 2.
    if isinstance(error, urllib3.exceptions.TimeoutError) and not is_refused:
        return "it did not respond in time"
    cause = error.args[0] if isinstance(error, urllib3.exceptions.SSLError) else error.__cause__
    if isinstance(cause, SSLCertVerificationError):
        return f"its certificate is not valid: {cause.verify_message}"
    if isinstance(cause, OSError) and cause.strerror:
        return ascii_lower(cause.strerror[:1]) + cause.strerror[1:]
    return "the connection failed"


def _fetch_document(url: str) -> dict[str, Any]:
    try:
        parse_https_url(url)
    except ValueError as error:
        raise CommandError(
            f"ISSUER must be an https URL such as https://login.example.com. {url} is not: it {error}."
        ) from None
    try:
        answer = urllib3.request("GET", url, timeout=_TIMEOUT, retries=False, redirect=False)
        document = answer.json() if answer.status == 200 else None  # noqa: PLR2004
    except urllib3.exceptions.HTTPError as error:
        raise CommandError(
            f"The host {urlsplit(url).netloc} of ISSUER cannot be reached: {_describe_failure(error)}. Check ISSUER and"
            " the network, or pass the URL of its keys with JWKS=."
        ) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise CommandError(
            f"{url} responds with status {answer.status} and no OpenID Connect Discovery document. Check ISSUER, or"
            " pass the URL of its keys with JWKS=."
        )
    return document

"""Discovery of an issuer's key set (OpenID Connect Discovery 1.0)."""

from typing import Any, Final

import urllib3

from infrastructure.account import CommandError

_TIMEOUT: Final = urllib3.Timeout(connect=5, read=10)


def discover_jwks_url(issuer: str) -> str:
    """Return the URL of an issuer's key set. Raises CommandError if discovery fails."""
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    document = _fetch_document(address)
    if document.get("issuer") != issuer:
        raise CommandError(
            f"{address} names the issuer {document.get('issuer')!r} instead of {issuer!r}. ISSUER must equal the `iss`"
            " of tokens exactly."
        )
    found = document.get("jwks_uri")
    if not isinstance(found, str) or not found.startswith("https://"):
        raise CommandError(f"{address} contains no https URL of a key set (`jwks_uri`). Pass one with JWKS=https://...")
    return found


def _fetch_document(url: str) -> dict[str, Any]:
    if not url.startswith("https://"):
        raise CommandError(f"ISSUER must be an https URL such as https://login.example.com; {url} is not.")
    try:
        answer = urllib3.request("GET", url, timeout=_TIMEOUT, retries=False, redirect=False)
        document = answer.json() if answer.status == 200 else None  # noqa: PLR2004
    except urllib3.exceptions.HTTPError as error:
        raise CommandError(
            f"{url} cannot be reached: {error}. Check ISSUER, or pass the URL of its keys with JWKS=."
        ) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise CommandError(
            f"{url} responds with status {answer.status} and no OpenID Connect Discovery document. Check ISSUER, or"
            " pass the URL of its keys with JWKS=."
        )
    return document

"""Discovery of an issuer's key set (OpenID Connect Discovery 1.0)."""

from typing import Any, Final

import urllib3

from infrastructure.account import Refused

_PATIENCE: Final = urllib3.Timeout(connect=5, read=10)


def jwks_of(issuer: str) -> str:
    """Return the URL of an issuer's key set. Raises Refused if discovery fails."""
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    document = _document(address)
    if document.get("issuer") != issuer:
        raise Refused(
            f"{address} names the issuer {document.get('issuer')!r} instead of {issuer!r}. ISSUER must equal the `iss`"
            " of tokens exactly."
        )
    found = document.get("jwks_uri")
    if not isinstance(found, str) or not found.startswith("https://"):
        raise Refused(f"{address} contains no https URL of a key set (`jwks_uri`). Pass one with JWKS=https://...")
    return found


def _document(address: str) -> dict[str, Any]:
    if not address.startswith("https://"):
        raise Refused(f"ISSUER must be an https URL such as https://login.example.com; {address} is not.")
    try:
        answer = urllib3.request("GET", address, timeout=_PATIENCE, retries=False, redirect=False)
        document = answer.json() if answer.status == 200 else None  # noqa: PLR2004
    except urllib3.exceptions.HTTPError as error:
        raise Refused(
            f"{address} cannot be reached: {error}. Check ISSUER, or pass the URL of its keys with JWKS=."
        ) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Refused(
            f"{address} responds with status {answer.status} and no OpenID Connect Discovery document. Check ISSUER, or"
            " pass the URL of its keys with JWKS=."
        )
    return document

"""Where an issuer's keys are: what OpenID Connect Discovery 1.0 says of it."""

from typing import Any, Final

import urllib3

from infrastructure.account import Refused

_PATIENCE: Final = urllib3.Timeout(connect=5, read=10)


def jwks_of(issuer: str) -> str:
    """Return the address of an issuer's key set. Raises Refused if it can't be learnt."""
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    document = _document(address)
    if document.get("issuer") != issuer:
        raise Refused(
            f"{address} is of the issuer {document.get('issuer')!r}, not of {issuer!r}. ISSUER has to be what tokens"
            " carry as `iss`, to the character."
        )
    found = document.get("jwks_uri")
    if not isinstance(found, str) or not found.startswith("https://"):
        raise Refused(f"{address} names no key set by https (`jwks_uri`). Name one with JWKS=https://...")
    return found


def _document(address: str) -> dict[str, Any]:
    if not address.startswith("https://"):
        raise Refused(f"ISSUER must be an https URL, such as https://login.example.com; {address} is none.")
    try:
        answer = urllib3.request("GET", address, timeout=_PATIENCE, retries=False, redirect=False)
        document = answer.json() if answer.status == 200 else None  # noqa: PLR2004
    except urllib3.exceptions.HTTPError as error:
        raise Refused(f"{address} can't be reached: {error}. Check ISSUER, or name its keys with JWKS=.") from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Refused(
            f"{address} answers {answer.status} and no document of OpenID Connect Discovery. Check ISSUER, or name its"
            " keys with JWKS=."
        )
    return document

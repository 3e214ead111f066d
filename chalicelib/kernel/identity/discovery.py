"""The document in which an issuer describes itself (OpenID Connect Discovery 1.0, section 4)."""

from typing import Any

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.json_client import JsonNotReceived, get_json_object


def discovery_url(issuer: str) -> str:
    """Return the URL of an issuer's discovery document."""
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def fetch_discovery_document(issuer: str, seconds: float) -> dict[str, Any]:
    """Return the discovery document of an issuer. Raises JsonNotReceived if there is none that names this issuer."""
    url = discovery_url(issuer)
    require_https_unless_local("AUTH_ISSUER", url)
    document = get_json_object(url, seconds, {})
    if document.get("issuer") != issuer:
        raise JsonNotReceived(f"{url} is about another issuer than AUTH_ISSUER: {str(document.get('issuer'))[:200]}.")
    return document


def require_https_unless_local(name: str, url: object) -> str:
    """Return the URL if it is an https URL, or an http URL on the local stage. Raises JsonNotReceived."""
    prefixes = ("https://", "http://") if settings().stage == "local" else ("https://",)
    if not isinstance(url, str) or not url.startswith(prefixes):
        raise JsonNotReceived(f"{name} is not an https URL.")
    return url

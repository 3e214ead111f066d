"""The challenge of a 401, which API Gateway and the local stage rename."""

from collections.abc import Mapping

from chalicelib.kernel.http.request import REMAPPED_WWW_AUTHENTICATE


def get_challenge(headers: Mapping[str, str]) -> str | None:
    """Return `WWW-Authenticate` of a response, under either name."""
    return headers.get("WWW-Authenticate", headers.get(REMAPPED_WWW_AUTHENTICATE))

"""HTTP requests for JSON objects, such as an issuer's documents: a single GET with limits, without redirects."""

from collections.abc import Mapping
from json import loads
from typing import TYPE_CHECKING, Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.outbound.http_headers import decode_headers

if TYPE_CHECKING:
    from httpcore import Response

    from chalicelib.kernel.outbound.egress import Exchange

MAX_JSON_RESPONSE_BYTES: Final = 65_536
"""Size of a JSON response from another server, such as an issuer."""

_HTTP_OK: Final = 200
_REDIRECTION: Final = range(300, 400)
_JSON: Final = "application/json"


class JsonNotReceived(Exception):
    """There is no JSON object at a URL, for the reason in the message. `status`: of the response, if there is one."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


def get_json_object(url: str, seconds: float, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON object at a URL. Raises JsonNotReceived.

    `seconds`: the time limit of the connection, request and response together. Only permitted addresses are connected
    to, as for webhooks.
    """
    from chalicelib.kernel.outbound.egress import ExchangeFailed, exchange_with_deadline

    try:
        with exchange_with_deadline(seconds) as exchange:
            return _parse_object(exchange.request("GET", url, {**headers, "Accept": _JSON}, _read_json))
    except ExchangeFailed as failure:
        raise JsonNotReceived(str(failure)) from None


def _read_json(exchange: "Exchange", response: "Response") -> bytes:
    if response.status in _REDIRECTION:
        raise JsonNotReceived("The server redirects, which is not followed.", response.status)
    if response.status != _HTTP_OK:
        raise JsonNotReceived(f"The server responded with status {response.status}.", response.status)
    _require_json(decode_headers(response.headers).get("content-type", ""))
    body, failure = exchange.read_beginning(response, MAX_JSON_RESPONSE_BYTES + 1)
    if failure:
        raise failure
    if len(body) > MAX_JSON_RESPONSE_BYTES:
        raise JsonNotReceived(f"The response is longer than {MAX_JSON_RESPONSE_BYTES} bytes.")
    return body


def _require_json(content_type: str) -> None:
    media_type = ascii_lower(content_type.partition(";")[0].strip())
    if media_type == "application/jwt":
        raise JsonNotReceived(
            "The server sends a signed response (`application/jwt`), which is not supported. Configure it to send JSON."
        )
    if media_type != _JSON:
        raise JsonNotReceived("The server sends no JSON: the content type is not `application/json`.")


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        value = loads(body)
    except (ValueError, RecursionError):  # ValueError also for an integer with too many digits.
        value = None
    if not isinstance(value, dict):
        raise JsonNotReceived("The server sends no JSON object.")
    return value

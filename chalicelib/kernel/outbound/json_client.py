"""HTTP requests for JSON objects, such as an issuer's documents: a single GET with limits, without redirects."""

from collections.abc import Mapping
from json import loads
from typing import TYPE_CHECKING, Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.version import VERSION

if TYPE_CHECKING:
    from httpcore import Response

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
            return _parse_object(exchange.perform(lambda: _request_body(url, headers)))
    except ExchangeFailed as failure:
        raise JsonNotReceived(str(failure)) from None


def _request_body(url: str, headers: Mapping[str, str]) -> bytes:
    from chalicelib.kernel.outbound.egress import connection_pool

    fixed_headers = {"Accept": _JSON, "Accept-Encoding": "identity", "User-Agent": f"Atrium/{VERSION}"}
    with connection_pool().stream("GET", url, headers=[*{**headers, **fixed_headers}.items()]) as response:
        if response.status in _REDIRECTION:
            raise JsonNotReceived("The server redirects, which is not followed.", response.status)
        if response.status != _HTTP_OK:
            raise JsonNotReceived(f"The server responded with status {response.status}.", response.status)
        _require_json(response)
        return _read_limited(response)


def _require_json(response: "Response") -> None:
    headers = {ascii_lower(name.decode("latin-1")): value.decode("latin-1") for name, value in response.headers}
    media_type = ascii_lower(headers.get("content-type", "").partition(";")[0].strip())
    if media_type == "application/jwt":
        raise JsonNotReceived(
            "The server sends a signed response (`application/jwt`), which is not supported. Configure it to send JSON."
        )
    if media_type != _JSON:
        raise JsonNotReceived("The server sends no JSON: the content type is not `application/json`.")


def _read_limited(response: "Response") -> bytes:
    content = bytearray()
    for part in response.iter_stream():
        content += part
        if len(content) > MAX_JSON_RESPONSE_BYTES:
            raise JsonNotReceived(f"The response is longer than {MAX_JSON_RESPONSE_BYTES} bytes.")
    return bytes(content)


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        value = loads(body)
    except (ValueError, RecursionError):  # ValueError also for an integer with too many digits.
        value = None
    if not isinstance(value, dict):
        raise JsonNotReceived("The server sends no JSON object.")
    return value

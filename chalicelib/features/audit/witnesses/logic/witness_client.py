"""Requests to witnesses: `add-checkpoint` of https://c2sp.org/tlog-witness.

Only permitted addresses are connected to, as for webhooks. Time and size of a response are limited.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.outbound.http_headers import decode_headers

if TYPE_CHECKING:
    from httpcore import Response

    from chalicelib.kernel.outbound.egress import Exchange

REQUEST_SECONDS: Final = 10.0
"""Time limit of a request to a witness: connection, request and response together."""

MAX_RESPONSE_BYTES: Final = 16_384
"""Size of the response of a witness."""

SIZE_MEDIA_TYPE: Final = "text/x.tlog.size"
"""Media type of a response with the size of the checkpoint that a witness has cosigned last."""


@dataclass(frozen=True)
class WitnessResponse:
    """The response of a witness: its status, its media type and the beginning of its body."""

    status: int
    media_type: str
    body: str


class WitnessUnreachable(Exception):
    """The witness did not respond, for the reason in the message."""


def build_body(old_size: int, consistency_path: Sequence[bytes], note: str) -> str:
    """Return the body of a request: the size that the witness knows, the consistency proof from it, and the note."""
    return "".join([f"old {old_size}\n", *(f"{to_base64(node)}\n" for node in consistency_path), "\n", note])


def add_checkpoint(url: str, body: str) -> WitnessResponse:
    """Submit a checkpoint to a witness and return its response. Raises WitnessUnreachable.

    `url`: the submission prefix, without a slash at the end.
    """
    from chalicelib.kernel.outbound.egress import ExchangeFailed, exchange_with_deadline
    from chalicelib.kernel.outbound.webhook_client import connection_headers

    headers = {"Content-Type": "text/plain; charset=utf-8", **connection_headers(url)}
    try:
        with exchange_with_deadline(REQUEST_SECONDS) as exchange:
            return exchange.request("POST", f"{url}/add-checkpoint", headers, _read_response, body.encode())
    except ExchangeFailed as failure:
        raise WitnessUnreachable(str(failure)) from None


def _read_response(exchange: "Exchange", response: "Response") -> WitnessResponse:
    body, failure = exchange.read_beginning(response, MAX_RESPONSE_BYTES)
    if failure:
        raise failure
    media_type = decode_headers(response.headers).get("content-type", "").partition(";")[0].strip()
    return WitnessResponse(response.status, media_type, body.decode(errors="replace"))

"""HTTP requests to webhooks: a single POST with a time limit, which reads only the beginning of the response."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound.retry_after import parse_retry_after_or_none

if TYPE_CHECKING:
    from httpcore import Response

    from chalicelib.kernel.outbound.egress import Exchange

TOTAL_SECONDS: Final = 15.0
"""Time limit of a request: connection, request and response together."""

MAX_RESPONSE_BYTES: Final = 1024
"""Bytes of a response that are read and stored."""

_CLOSED_ERROR: Final = "The server closed the connection without a response."
_INVALID_RESPONSE_ERROR: Final = "The response is not HTTP, or ended before the status."


@dataclass(frozen=True)
class WebhookResponse:
    """The result of a request. `body`: the first KiB of the response as text. `retry_after`: in seconds.

    `error` explains why there is no `status`. `timed_out`: the request, or only the response body, took too long.
    `misconfigured`: the host does not exist, or its certificate is not valid. `earlier_attempts`: results of the same
    request on pooled connections that turned out to be dead, in order. `signed_at`: the time that the signatures of the
    request contain, or None if it is not signed.
    """

    status: int | None
    error: str | None
    body: str
    duration_ms: int
    retry_after: int | None = None
    timed_out: bool = False
    misconfigured: bool = False
    earlier_attempts: tuple["WebhookResponse", ...] = ()
    signed_at: str | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether the status is 2xx."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004


def post_webhook(url: str, body: bytes, headers: Mapping[str, str], seconds: float | None = None) -> WebhookResponse:
    """Send a body to a target URL and return the result. Redirects are not followed.

    `seconds`: the time limit, by default `TOTAL_SECONDS`. Failures of the other side are part of the result.
    """
    from httpcore import NetworkError, RemoteProtocolError, TimeoutException

    from chalicelib.kernel.outbound.egress import Unreachable, exchange_with_deadline

    started_at = monotonic()
    time_limit = TOTAL_SECONDS if seconds is None else seconds
    response: WebhookResponse
    earlier_attempts: list[WebhookResponse] = []
    with exchange_with_deadline(time_limit) as exchange:
        try:
            response = _send_retrying_dead_connections(exchange, url, body, headers, earlier_attempts)
        except Unreachable as error:
            response = replace(
                _build_failure_response(str(error), timed_out=error.timed_out), misconfigured=error.misconfigured
            )
        except TimeoutException:
            response = _build_failure_response(f"The server did not respond within {time_limit:g} s.", timed_out=True)
        except (NetworkError, RemoteProtocolError):
            response = _build_failure_response(_INVALID_RESPONSE_ERROR if exchange.received_bytes else _CLOSED_ERROR)
    duration_ms = round((monotonic() - started_at) * 1000) - sum(each.duration_ms for each in earlier_attempts)
    return replace(response, duration_ms=max(duration_ms, 0), earlier_attempts=tuple(earlier_attempts))


def connection_headers(url: str) -> dict[str, str]:
    """Return the headers that every request to a target URL has."""
    return {"Host": urlsplit(url).netloc, "User-Agent": f"Atrium/{VERSION}", "Accept-Encoding": "identity"}


def _send_retrying_dead_connections(
    exchange: "Exchange", url: str, body: bytes, headers: Mapping[str, str], failed_attempts_sink: list[WebhookResponse]
) -> WebhookResponse:
    """Send the request. If a pooled connection turns out to be dead, try the next one, and finally a new connection.

    The server may have received the request on a dead connection. If any byte was written, the attempt is added to
    `failed_attempts_sink`.
    """
    from httpcore import NetworkError, RemoteProtocolError

    while True:
        started_at, exchange.sent_bytes = monotonic(), 0
        try:
            return _send_once(url, body, headers)
        except (NetworkError, RemoteProtocolError):
            if exchange.connected or exchange.received_bytes:
                raise
            if exchange.sent_bytes:
                failed_attempts_sink.append(
                    replace(
                        _build_failure_response(_CLOSED_ERROR), duration_ms=round((monotonic() - started_at) * 1000)
                    )
                )


def _send_once(url: str, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
    from chalicelib.kernel.outbound.egress import connection_pool

    all_headers = [*{**headers, **connection_headers(url)}.items()]
    with connection_pool().stream("POST", url, headers=all_headers, content=body) as response:
        response_headers = {name.lower(): value.decode("latin-1") for name, value in reversed(response.headers)}
        retry_after = parse_retry_after_or_none(response_headers.get(b"retry-after", ""))
        beginning, timed_out = _read_beginning_and_timed_out(response)
        return WebhookResponse(response.status, None, _decode_and_truncate_text(beginning), 0, retry_after, timed_out)


def _read_beginning_and_timed_out(response: "Response") -> tuple[bytes, bool]:
    """Return the beginning of a response, and whether reading it timed out. A partial response is valid."""
    from httpcore import NetworkError, RemoteProtocolError, TimeoutException

    content = b""
    try:
        for part in response.iter_stream():
            content += part
            if len(content) >= MAX_RESPONSE_BYTES:
                break
    except TimeoutException:
        return content, True
    except (NetworkError, RemoteProtocolError):
        pass
    return content[:MAX_RESPONSE_BYTES], False


def _decode_and_truncate_text(data: bytes) -> str:
    """Return text of at most `MAX_RESPONSE_BYTES` bytes. Replacement characters take three bytes each."""
    return data.decode(errors="replace").encode()[:MAX_RESPONSE_BYTES].decode(errors="ignore")


def _build_failure_response(why: str, *, timed_out: bool = False) -> WebhookResponse:
    return WebhookResponse(None, why, "", 0, timed_out=timed_out)

"""HTTP requests to webhooks: a single POST with a time limit, which reads only the beginning of the response."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.outbound.http_headers import CLIENT_HEADERS, decode_headers, parse_retry_after_or_none

if TYPE_CHECKING:
    from httpcore import Response

    from chalicelib.kernel.outbound.egress import Exchange

TOTAL_SECONDS: Final = 15.0
"""Time limit of a request: connection, request and response together."""

MAX_RESPONSE_BYTES: Final = 1024
"""Bytes of a response that are read and stored."""


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

    @classmethod
    def of_unsent_request(cls, error: str) -> "WebhookResponse":
        """Return the result of a request that was not sent, for a reason."""
        return cls(None, error, "", 0)

    @property
    def succeeded(self) -> bool:
        """Return whether the status is 2xx."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004


def post_webhook(url: str, body: bytes, headers: Mapping[str, str], seconds: float | None = None) -> WebhookResponse:
    """Send a body to a target URL and return the result. Redirects are not followed.

    `seconds`: the time limit, by default `TOTAL_SECONDS`. Failures of the other side are part of the result.
    """
    from chalicelib.kernel.outbound.egress import CLOSED_ERROR, ExchangeFailed, exchange_with_deadline

    started_at = monotonic()
    with exchange_with_deadline(TOTAL_SECONDS if seconds is None else seconds) as exchange:
        try:
            response = exchange.request("POST", url, {**headers, **connection_headers(url)}, _read_result, body)
        except ExchangeFailed as failure:
            response = WebhookResponse(
                None, str(failure), "", 0, timed_out=failure.timed_out, misconfigured=failure.misconfigured
            )
    duration_ms = round((monotonic() - started_at) * 1000) - sum(exchange.failed_attempts_ms)
    earlier_attempts = tuple(WebhookResponse(None, CLOSED_ERROR, "", each) for each in exchange.failed_attempts_ms)
    return replace(response, duration_ms=max(duration_ms, 0), earlier_attempts=earlier_attempts)


def connection_headers(url: str) -> dict[str, str]:
    """Return the headers that every request to a target URL has."""
    return {"Host": urlsplit(url).netloc, **CLIENT_HEADERS}


def _read_result(exchange: "Exchange", response: "Response") -> WebhookResponse:
    """Return the result, with the beginning of the body. A partial response is valid."""
    retry_after = parse_retry_after_or_none(decode_headers(reversed(response.headers)).get("retry-after"))
    beginning, failure = exchange.read_beginning(response, MAX_RESPONSE_BYTES)
    timed_out = failure is not None and failure.timed_out
    return WebhookResponse(response.status, None, _decode_and_truncate_text(beginning), 0, retry_after, timed_out)


def _decode_and_truncate_text(data: bytes) -> str:
    """Return text of at most `MAX_RESPONSE_BYTES` bytes. Replacement characters take three bytes each."""
    return data.decode(errors="replace").encode()[:MAX_RESPONSE_BYTES].decode(errors="ignore")

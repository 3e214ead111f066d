"""Requests to strangers' servers: one POST, which ends in time and reads little, whatever the other side does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound.retry_after import parse_retry_after

if TYPE_CHECKING:
    from httpcore import Response

    from chalicelib.kernel.outbound.egress import Exchange

TOTAL_SECONDS: Final = 15.0
"""What one request may take: connection, request and answer together."""

MAX_BODY_BYTES: Final = 1024
"""Bytes of an answer that are read and kept."""

_CLOSED: Final = "It closed the connection without an answer."
_BROKEN: Final = "What it answered is not HTTP, or broke off before the status."


@dataclass(frozen=True)
class WebhookResponse:
    """What came of a request. `body`: the first KiB of the answer as text. `retry_after`: in seconds, if it was said.

    `error` says in words why there is no `status`; `timed_out` whether it took too long, be it that the body did.
    `misconfigured`: whether the target's name does not exist, or its certificate is not valid. `earlier`: what came of
    the same request on connections that were kept and turned out to be dead, the first one first.
    """

    status: int | None
    error: str | None
    body: str
    duration_ms: int
    retry_after: int | None = None
    timed_out: bool = False
    misconfigured: bool = False
    earlier: tuple["WebhookResponse", ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the other side took what it was sent (2xx)."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004


def post_webhook(url: str, body: bytes, headers: Mapping[str, str], seconds: float | None = None) -> WebhookResponse:
    """Send a body to a target (see kernel/targets) and return what came of it; redirects are not followed.

    `seconds`: what all of it may take, if not `TOTAL_SECONDS`. Never raises for what the other side does.
    """
    from httpcore import NetworkError, RemoteProtocolError, TimeoutException

    from chalicelib.kernel.outbound.egress import Unreachable, guarded_exchange

    begun = monotonic()
    most = TOTAL_SECONDS if seconds is None else seconds
    answer: WebhookResponse
    earlier: list[WebhookResponse] = []
    with guarded_exchange(most) as present:
        try:
            answer = _sent(present, url, body, headers, earlier)
        except Unreachable as error:
            answer = replace(_failure(str(error), timed_out=error.timed_out), misconfigured=error.misconfigured)
        except TimeoutException:
            answer = _failure(f"It did not answer within {most:g} s.", timed_out=True)
        except (NetworkError, RemoteProtocolError):
            answer = _failure(_BROKEN if present.received else _CLOSED)
    took_ms = round((monotonic() - begun) * 1000) - sum(each.duration_ms for each in earlier)
    return replace(answer, duration_ms=max(took_ms, 0), earlier=tuple(earlier))


def _sent(
    present: "Exchange", url: str, body: bytes, headers: Mapping[str, str], earlier: list[WebhookResponse]
) -> WebhookResponse:
    """Send, once more if a connection that was kept turns out to be dead; then at last a new one is made.

    Nobody knows whether a server took what was written to such a connection. So each of these requests, if a byte of it
    was written, is added to what was sent `earlier`.
    """
    from httpcore import NetworkError, RemoteProtocolError

    while True:
        begun, present.sent = monotonic(), 0
        try:
            return _sent_once(url, body, headers)
        except (NetworkError, RemoteProtocolError):
            if present.connected or present.received:
                raise
            if present.sent:
                earlier.append(replace(_failure(_CLOSED), duration_ms=round((monotonic() - begun) * 1000)))


def _sent_once(url: str, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
    from chalicelib.kernel.outbound.egress import pool

    usual = {"Host": urlsplit(url).netloc, "User-Agent": f"Atrium/{VERSION}", "Accept-Encoding": "identity"}
    sent = [*{**headers, **usual}.items()]
    with pool().stream("POST", url, headers=sent, content=body) as response:
        said = {name.lower(): value.decode("latin-1") for name, value in reversed(response.headers)}
        asked = parse_retry_after(said.get(b"retry-after", ""))
        read, timed_out = _first_bytes(response)
        return WebhookResponse(response.status, None, _text(read), 0, asked, timed_out)


def _first_bytes(response: "Response") -> tuple[bytes, bool]:
    """Return the beginning of an answer, or of what has come of it: its status counts, even if it breaks off.

    And whether it took too long to come.
    """
    from httpcore import NetworkError, RemoteProtocolError, TimeoutException

    read = b""
    try:
        for part in response.iter_stream():
            read += part
            if len(read) >= MAX_BODY_BYTES:
                break
    except TimeoutException:
        return read, True
    except (NetworkError, RemoteProtocolError):
        pass
    return read[:MAX_BODY_BYTES], False


def _text(data: bytes) -> str:
    """Return text of at most so many bytes: what stands for bytes that are none has three where they had one."""
    return data.decode(errors="replace").encode()[:MAX_BODY_BYTES].decode(errors="ignore")


def _failure(why: str, *, timed_out: bool = False) -> WebhookResponse:
    return WebhookResponse(None, why, "", 0, timed_out=timed_out)

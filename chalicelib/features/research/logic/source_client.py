"""A client for the JSON APIs of public sources, with throttling, bounded time and bounded size.

It retries after short outages, with full jitter or according to `Retry-After`. After longer ones it raises RetryLater,
and the job continues later. Its errors contain no URLs, because URLs can contain secrets.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from pydantic_core import from_json

from chalicelib.features.research.logic import throttle
from chalicelib.kernel.core.clock import sleep_with_jittered_backoff
from chalicelib.kernel.core.idle_connections import IdleConnections
from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound.http_headers import parse_retry_after_or_none

CONNECT_SECONDS: Final = 3.0
"""Time limit of a connection to a source."""

READ_SECONDS: Final = 20.0
"""Time limit of a read from a source."""

MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
"""Size of a response from a source."""

MAX_WAIT_SECONDS: Final = 3.0
"""Maximum time for which a worker waits. A job that has to wait longer is released."""

MAX_RETRY_AFTER_SECONDS: Final = 86_400.0
"""Maximum delay that a source can request with `Retry-After`."""

_MAX_ATTEMPTS: Final = 3
_MAX_REDIRECTS: Final = 3
_CHUNK_BYTES: Final = 65_536
_OK, _UNAUTHORIZED, _FORBIDDEN, _TOO_MANY_REQUESTS, _SERVER_ERROR = 200, 401, 403, 429, 500
_REDIRECT_STATUSES: Final = (301, 302, 303, 307, 308)
_NOT_FOUND_STATUSES: Final = (404, 409, 410)
"""Status codes of resources that do not exist. ORCID responds 409 for locked and deactivated records."""


class NotFound(Exception):
    """The source does not know the resource."""


class Rejected(Exception):
    """The source rejects the request permanently, for the reason in the message."""


class InvalidResponse(Exception):
    """The response does not match the source's documentation, for the reason in the message."""


class RetryLater(Exception):
    """The source is unavailable. `seconds` is the delay that it requested, or None."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(frozen=True)
class Source:
    """A public source: its name, base URL and request rate, and the headers and query parameters of every request."""

    name: str
    base_url: str
    requests_per_second: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    contact_email: str = ""

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path.

        Raises NotFound, Rejected, InvalidResponse or RetryLater, and Problem if the table is unavailable.
        """
        url = f"{self.base_url.rstrip('/')}{path}"
        query_string = urlencode({**query, **self.query})
        return _get_json(self, f"{url}?{query_string}" if query_string else url)

    @property
    def user_agent(self) -> str:
        """The `User-Agent` header, with a contact address if there is one."""
        contact = f" (mailto:{self.contact_email})" if self.contact_email else ""
        return f"Atrium/{VERSION}{contact}"


@dataclass(frozen=True)
class SourceResponse:
    """The response of a source. `retry_after` is in seconds."""

    status: int
    location: str | None
    retry_after: float | None
    body: bytes


def _get_json(source: Source, url: str) -> Any:
    for attempt in range(_MAX_ATTEMPTS):
        try:
            response = _follow_redirects(source, url)
        except RetryLater:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            sleep_with_jittered_backoff(attempt, first_seconds=0.2, max_seconds=MAX_WAIT_SECONDS)
            continue
        if response.status in (_FORBIDDEN, _TOO_MANY_REQUESTS) or response.status >= _SERVER_ERROR:
            _wait_before_retry_or_raise(source, response, is_last=attempt == _MAX_ATTEMPTS - 1, attempt=attempt)
            continue
        return _parse_response(source, response)
    raise AssertionError("unreachable")


def _wait_before_retry_or_raise(source: Source, response: SourceResponse, *, is_last: bool, attempt: int) -> None:
    """Wait before the next attempt. Raises RetryLater if the wait is too long or no attempt is left."""
    seconds = response.retry_after
    if is_last or (seconds or 0) > MAX_WAIT_SECONDS:
        if seconds:
            throttle.delay_all_slots(source.name, seconds)
        raise RetryLater(f"{source.name} answered {response.status}.", seconds)
    if seconds is None:
        sleep_with_jittered_backoff(attempt, first_seconds=0.2, max_seconds=MAX_WAIT_SECONDS)
    else:
        time.sleep(seconds)


def _parse_response(source: Source, response: SourceResponse) -> Any:
    if response.status in _NOT_FOUND_STATUSES:
        raise NotFound
    if response.status == _UNAUTHORIZED:
        raise Rejected(f"{source.name} requires a key or rejects the configured one. Check the settings of the source.")
    if response.status != _OK:
        raise Rejected(f"{source.name} answered {response.status}.")
    try:
        return from_json(response.body)
    except ValueError:
        raise InvalidResponse(f"{source.name} sent no JSON.") from None


def _follow_redirects(source: Source, url: str) -> SourceResponse:
    """Return the response at a URL, following redirects to the same host, which sources use for merged records."""
    for _ in range(_MAX_REDIRECTS + 1):
        response = _send_throttled(source, url)
        if response.status not in _REDIRECT_STATUSES or not response.location:
            return response
        target = urljoin(url, response.location)
        if urlsplit(target)[:2] != urlsplit(source.base_url)[:2]:
            raise Rejected(f"{source.name} redirects to another host.")
        url = _url_with_source_query(target, source)
    raise Rejected(f"{source.name} redirects too often.")


def _url_with_source_query(url: str, source: Source) -> str:
    """Return a URL with the source's own query parameters, unless it has them."""
    missing = {name: value for name, value in source.query.items() if f"{name}=" not in urlsplit(url).query}
    return f"{url}{'&' if '?' in url else '?'}{urlencode(missing)}" if missing else url


def _send_throttled(source: Source, url: str) -> SourceResponse:
    try:
        throttle.wait_for_slot(source.name, source.requests_per_second, max_wait_seconds=MAX_WAIT_SECONDS)
    except throttle.Throttled as throttled:
        raise RetryLater(f"{source.name} is throttled for other requests.", throttled.seconds) from throttled
    return _send(source, url)


def _send(source: Source, url: str) -> SourceResponse:
    from urllib3.exceptions import HTTPError

    headers = {"User-Agent": source.user_agent, "Accept": "application/json", **source.headers}
    try:
        response = _connection_pool().request("GET", url, headers=headers, preload_content=False)
        try:
            body = _read_body(source, response, time.monotonic() + READ_SECONDS)
        finally:
            response.close()
    except HTTPError as error:
        raise RetryLater(f"{source.name} did not answer: {type(error).__name__}.") from error
    seconds = parse_retry_after_or_none(response.headers.get("Retry-After"))
    retry_after = None if seconds is None else min(float(seconds), MAX_RETRY_AFTER_SECONDS)
    return SourceResponse(response.status, response.headers.get("Location"), retry_after, body)


def _read_body(source: Source, response: Any, deadline: float) -> bytes:
    body = bytearray()
    for chunk in response.stream(_CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_RESPONSE_BYTES:
            raise InvalidResponse(f"{source.name} sent more than {MAX_RESPONSE_BYTES // 2**20} MB.")
        if time.monotonic() > deadline:
            raise RetryLater(f"{source.name} sends too slowly.")
    return bytes(body)


def reset_connections() -> None:
    """Close pooled connections. The next request opens new ones."""
    _pool_and_connections()[0].clear()
    _pool_and_connections.cache_clear()


def _connection_pool() -> Any:
    pool, connections = _pool_and_connections()
    connections.close_if_idle()
    return pool


@lru_cache(maxsize=1)
def _pool_and_connections() -> tuple[Any, IdleConnections]:
    from urllib3 import PoolManager, Timeout

    # This module handles redirects and retries. The next page reuses the connection.
    timeout = Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    pool = PoolManager(timeout=timeout, retries=False, maxsize=4)
    return pool, IdleConnections(pool.clear)

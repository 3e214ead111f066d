"""Fetching JSON from public services that a setting names: politely, and never for longer or more than is bounded.

What passes within seconds is waited for and tried again here (full jitter, or as `Retry-After` says); what takes longer
is said to the caller, whose work goes on later. The address of a secret is never told.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from pydantic_core import from_json

from chalicelib.features.research.logic import throttle
from chalicelib.kernel.core.clock import backoff_seconds
from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound.retry_after import parse_retry_after

CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 20.0
MOST_BYTES: Final = 16 * 1024 * 1024
SHORT_SECONDS: Final = 3.0
"""For so long a worker waits; who has to wait longer gives its turn to others."""

LONGEST_SECONDS: Final = 86_400.0
"""What `Retry-After` is believed."""

_TRIES: Final = 3
_HOPS: Final = 3
_PIECE: Final = 65_536
_OK, _UNAUTHORIZED, _FORBIDDEN, _TOO_MANY, _SERVER_ERROR = 200, 401, 403, 429, 500
_MOVED: Final = (301, 302, 303, 307, 308)
_MISSING: Final = (404, 409, 410)
"""Not there, or not any more: ORCID says 409 of a record that is locked or was deactivated."""


class Missing(Exception):
    """The service knows nothing of what was asked for."""


class Refused(Exception):
    """The service refuses the request for good; says how."""


class Malformed(Exception):
    """The answer is not what the service documents; says how."""


class Later(Exception):
    """The service has no time now. `seconds`: when it said to come back; None if it didn't."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


@dataclass(frozen=True)
class Source:
    """A public service: its name, where it is, how many requests a second it is asked, and what goes with each."""

    name: str
    base: str
    rate: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    mailto: str = ""

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path. Raises Missing, Refused, Malformed, Later; Problem if the table doesn't answer."""
        url = f"{self.base.rstrip('/')}{path}"
        asked = urlencode({**query, **self.query})
        return _read(self, f"{url}?{asked}" if asked else url)

    @property
    def agent(self) -> str:
        """Who asks, and whom to write to."""
        contact = f" (mailto:{self.mailto})" if self.mailto else ""
        return f"Atrium/{VERSION}{contact}"


@dataclass(frozen=True)
class Answer:
    """What a service answers: `location` and `retry_after`, in seconds, as far as it says them."""

    status: int
    location: str | None
    retry_after: float | None
    body: bytes


def _read(source: Source, url: str) -> Any:
    for attempt in range(_TRIES):
        try:
            answer = _followed(source, url)
        except Later:
            if attempt == _TRIES - 1:
                raise
            backoff_seconds(attempt, first=0.2, most=SHORT_SECONDS)
            continue
        if answer.status in (_FORBIDDEN, _TOO_MANY) or answer.status >= _SERVER_ERROR:
            _wait_or_leave(source, answer, last=attempt == _TRIES - 1, attempt=attempt)
            continue
        return _judged(source, answer)
    raise AssertionError("unreachable")


def _wait_or_leave(source: Source, answer: Answer, *, last: bool, attempt: int) -> None:
    """Wait before the next try. Raises Later if that would be long, or there is none."""
    seconds = answer.retry_after
    if last or (seconds or 0) > SHORT_SECONDS:
        if seconds:
            throttle.hold_back(source.name, seconds)
        raise Later(f"{source.name} answered {answer.status}.", seconds)
    if seconds is None:
        backoff_seconds(attempt, first=0.2, most=SHORT_SECONDS)
    else:
        time.sleep(seconds)


def _judged(source: Source, answer: Answer) -> Any:
    if answer.status in _MISSING:
        raise Missing
    if answer.status == _UNAUTHORIZED:
        raise Refused(f"{source.name} wants a key, or refuses the one it was given; see its settings.")
    if answer.status != _OK:
        raise Refused(f"{source.name} answered {answer.status}.")
    try:
        return from_json(answer.body)
    except ValueError:
        raise Malformed(f"{source.name} sent no JSON.") from None


def _followed(source: Source, url: str) -> Answer:
    """Return the answer at an address, or at that of the same host which it leads to: merged records do. Raises."""
    for _ in range(_HOPS + 1):
        answer = _asked(source, url)
        if answer.status not in _MOVED or not answer.location:
            return answer
        target = urljoin(url, answer.location)
        if urlsplit(target)[:2] != urlsplit(source.base)[:2]:
            raise Refused(f"{source.name} leads to another host.")
        url = _with_query(target, source)
    raise Refused(f"{source.name} leads on and on.")


def _with_query(url: str, source: Source) -> str:
    """Return an address with what goes with each request to the source, unless it has that already."""
    lacking = {name: value for name, value in source.query.items() if f"{name}=" not in urlsplit(url).query}
    return f"{url}{'&' if '?' in url else '?'}{urlencode(lacking)}" if lacking else url


def _asked(source: Source, url: str) -> Answer:
    try:
        throttle.wait_for(source.name, source.rate, most=SHORT_SECONDS)
    except throttle.TooSoon as soon:
        raise Later(f"{source.name} is asked by others.", soon.seconds) from soon
    return _exchanged(source, url)


def _exchanged(source: Source, url: str) -> Answer:
    from urllib3.exceptions import HTTPError

    headers = {"User-Agent": source.agent, "Accept": "application/json", **source.headers}
    try:
        response = _pool().request("GET", url, headers=headers, preload_content=False)
        try:
            body = _body(source, response, time.monotonic() + READ_SECONDS)
        finally:
            response.close()
    except HTTPError as error:
        raise Later(f"{source.name} did not answer: {type(error).__name__}.") from error
    seconds = parse_retry_after(response.headers.get("Retry-After"))
    retry_after = None if seconds is None else min(float(seconds), LONGEST_SECONDS)
    return Answer(response.status, response.headers.get("Location"), retry_after, body)


def _body(source: Source, response: Any, until: float) -> bytes:
    body = bytearray()
    for piece in response.stream(_PIECE):
        body += piece
        if len(body) > MOST_BYTES:
            raise Malformed(f"{source.name} sent more than {MOST_BYTES // 2**20} MB.")
        if time.monotonic() > until:
            raise Later(f"{source.name} sends too slowly.")
    return bytes(body)


def forget_connections() -> None:
    """End those that are kept, and make new ones at the next use."""
    _pool().clear()
    _pool.cache_clear()


@lru_cache(maxsize=1)
def _pool() -> Any:
    from urllib3 import PoolManager, Timeout

    # Redirects and retries are decided here; a connection that is kept is used by the next page.
    timeout = Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    return PoolManager(timeout=timeout, retries=False, maxsize=4)

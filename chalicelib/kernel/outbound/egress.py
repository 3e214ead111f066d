"""Requests to external servers: only to permitted addresses, and only until the deadline of an exchange.

A host name is resolved only once, so the connection goes to the address that was checked. httpcore pools the
connections and implements HTTP.
"""

import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar

import httpcore

from chalicelib.kernel.core.idle_connections import MAX_IDLE_SECONDS, IdleConnections
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import dns
from chalicelib.kernel.outbound.http_headers import CLIENT_HEADERS
from chalicelib.kernel.outbound.ip_addresses import is_localhost_name, is_public

CONNECT_SECONDS: Final = 3.0
"""Time-out of DNS, TCP and TLS together."""

_MAX_IDLE_CONNECTIONS: Final = 50
_MIN_ATTEMPT_SECONDS: Final = 1.0
"""Minimum time for an attempt to connect to one of several addresses. A lost packet takes a second."""

_LOOPBACK: Final = ("127.0.0.1", "::1")
_RECORD_TYPES: Final[tuple[dns.RecordType, ...]] = ("A", "AAAA")
_SECOND_QUERY_SECONDS: Final = 0.5
"""Time to wait for further addresses when some are known. Some servers never respond to AAAA queries."""

NO_PUBLIC_ADDRESS: Final = "The host has no public address."
CLOSED_ERROR: Final = "The server closed the connection without a response."
_INVALID_RESPONSE_ERROR: Final = "The response is not HTTP, or ended too early."
_HTTP_ERRORS: Final = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.RemoteProtocolError)

T = TypeVar("T")

_pool_lock: Final = Lock()


class ExchangeFailed(Exception):
    """There is no response, for the reason in the message. `timed_out`: the server was too slow.

    `misconfigured`: the name of the host does not exist, or the certificate is not valid for it.
    """

    def __init__(self, why: str, *, timed_out: bool = False, misconfigured: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        self.misconfigured = misconfigured


@dataclass
class Exchange:
    """A request and its response. `seconds`: their time limit. `deadline`: when it ends, by `monotonic`.

    `connected`: whether a connection was opened for it. `sent_bytes`: of the last attempt to send the request.
    `received_bytes`: of the response. `failed_attempts_ms`: the duration of each attempt on a dead connection on which
    the server may have received the request.
    """

    seconds: float
    deadline: float
    connected: bool = False
    sent_bytes: int = 0
    received_bytes: int = 0
    failed_attempts_ms: list[int] = field(default_factory=list)

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        read: "_Reader[T]",
        content: bytes | None = None,
    ) -> T:
        """Send a request with `CLIENT_HEADERS` and return what `read` reads from the response. Raises ExchangeFailed.

        If a pooled connection turns out to be dead, the next one is tried, and finally a new connection. Redirects are
        not followed.
        """
        all_headers = [*{**headers, **CLIENT_HEADERS}.items()]
        while True:
            started_at, self.sent_bytes = monotonic(), 0
            try:
                with _connection_pool().stream(method, url, headers=all_headers, content=content) as response:
                    return read(self, response)
            except _HTTP_ERRORS as error:
                if isinstance(error, httpcore.TimeoutException) or self.connected or self.received_bytes:
                    raise self._failure_from_http_error(error) from None
                if self.sent_bytes:
                    self.failed_attempts_ms.append(round((monotonic() - started_at) * 1000))

    def read_beginning(self, response: httpcore.Response, max_bytes: int) -> tuple[bytes, ExchangeFailed | None]:
        """Return the beginning of a body, and why it ends too early if it does. The rest is not read."""
        content = b""
        try:
            for part in response.iter_stream():
                content += part
                if len(content) >= max_bytes:
                    break
        except _HTTP_ERRORS as error:
            return content, self._failure_from_http_error(error)
        return content[:max_bytes], None

    def _failure_from_http_error(self, error: Exception) -> ExchangeFailed:
        if isinstance(error, httpcore.TimeoutException):
            return ExchangeFailed(f"The server did not respond within {self.seconds:g} s.", timed_out=True)
        return ExchangeFailed(_INVALID_RESPONSE_ERROR if self.received_bytes else CLOSED_ERROR)


_Reader = Callable[[Exchange, httpcore.Response], T]

_current_exchange: ContextVar[Exchange] = ContextVar("exchange")


@contextmanager
def exchange_with_deadline(seconds: float) -> Iterator[Exchange]:
    """Set the deadline of all requests that use the pool within the block, in this thread."""
    exchange = Exchange(seconds, deadline=monotonic() + seconds)
    token = _current_exchange.set(exchange)
    try:
        yield exchange
    finally:
        _current_exchange.reset(token)


def _connection_pool() -> httpcore.ConnectionPool:
    """Return this process's connection pool. It is called for each request, because it closes idle connections."""
    with _pool_lock:
        pool, connections = _pool_and_connections()
    connections.close_if_idle()
    return pool


def reset_pool() -> None:
    """Close the pooled connections. The next use opens new ones, with the current trust store."""
    with _pool_lock:
        _pool_and_connections()[0].close()
        _pool_and_connections.cache_clear()


@lru_cache(maxsize=1)
def _pool_and_connections() -> tuple[httpcore.ConnectionPool, IdleConnections]:
    pool = httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(),
        max_connections=None,
        max_keepalive_connections=_MAX_IDLE_CONNECTIONS,
        keepalive_expiry=MAX_IDLE_SECONDS,
        network_backend=_Network(),
    )
    # No exchange takes as long as the idle time, so the pool has no requests in flight when it is closed.
    return pool, IdleConnections(pool.close)


class _Network(httpcore.NetworkBackend):
    """Connects to permitted addresses. The exchange's deadline replaces httpcore's time-outs."""

    def connect_tcp(self, host: str, port: int, *_: Any, **_options: Any) -> httpcore.NetworkStream:
        exchange = _current_exchange.get()
        exchange.connected = True
        deadline = min(exchange.deadline, monotonic() + CONNECT_SECONDS)
        return _Stream(
            _connect_to_first_address(_resolve_and_filter_allowed_addresses(host, deadline), port, deadline), deadline
        )


class _Stream(httpcore.NetworkStream):
    """A connection. `setup_deadline`: the deadline for opening it, including TLS."""

    def __init__(self, connection: socket.socket, setup_deadline: float) -> None:
        self._connection = connection
        self._setup_deadline = setup_deadline

    def read(self, max_bytes: int, *_: Any, **_options: Any) -> bytes:
        exchange = _current_exchange.get()
        try:
            self._connection.settimeout(_seconds_until_deadline(exchange.deadline))
            data = self._connection.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        except OSError as error:
            raise httpcore.ReadError from error
        exchange.received_bytes += len(data)
        return data

    def write(self, buffer: bytes, *_: Any, **_options: Any) -> None:
        rest = memoryview(buffer)
        try:
            while rest:
                exchange = _current_exchange.get()
                self._connection.settimeout(_seconds_until_deadline(exchange.deadline))
                written = self._connection.send(rest)
                exchange.sent_bytes += written
                rest = rest[written:]
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        except OSError as error:
            raise httpcore.WriteError from error

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, *_: Any, **_options: Any
    ) -> httpcore.NetworkStream:
        try:
            self._connection.settimeout(_seconds_until_deadline(self._setup_deadline))
            return _Stream(
                ssl_context.wrap_socket(self._connection, server_hostname=server_hostname), self._setup_deadline
            )
        except OSError as error:
            self.close()
            raise _failure_from_tls_error(error) from error

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(0))


def _seconds_until_deadline(deadline: float) -> float:
    """Return the seconds until the deadline. Raises TimeoutError if it has passed."""
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _resolve_and_filter_allowed_addresses(host: str, deadline: float) -> list[str]:
    """Return the addresses of a host that may be connected to. Raises ExchangeFailed if there is none."""
    addresses = resolve_host(host, deadline)
    allowed = (
        addresses if settings().webhook_allow_private else [address for address in addresses if is_public(address)]
    )
    if not allowed:
        raise ExchangeFailed(NO_PUBLIC_ADDRESS)
    return allowed


def resolve_host(host: str, deadline_monotonic: float) -> list[str]:
    """Return the addresses of a host, IPv4 first. A literal address is returned itself.

    Raises ExchangeFailed.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        return list(_LOOPBACK) if is_localhost_name(host) else _query_addresses(host, deadline_monotonic)


def _query_addresses(host: str, deadline: float) -> list[str]:
    addresses: list[str] = []
    timed_out = no_such_name = False
    for record_type in _RECORD_TYPES:
        seconds_left = deadline - monotonic()
        try:
            records = dns.query_dns(
                host, record_type, min(seconds_left, _SECOND_QUERY_SECONDS) if addresses else seconds_left
            )
            addresses += records
            no_such_name = no_such_name or records is dns.NO_SUCH_NAME
        except dns.DnsError as error:
            timed_out = timed_out or error.timed_out
    if not addresses and timed_out:
        raise ExchangeFailed("The name's DNS servers did not respond in time.", timed_out=True)
    if not addresses:
        raise ExchangeFailed("The name cannot be resolved.", misconfigured=no_such_name)
    return addresses


def _connect_to_first_address(candidates: list[str], port: int, deadline: float) -> socket.socket:
    """Return a connection to the first address that accepts one."""
    failures: list[OSError] = []
    for attempt, address in enumerate(candidates):
        try:
            seconds_left = _seconds_until_deadline(deadline)
            attempt_seconds = max(seconds_left / (len(candidates) - attempt), min(seconds_left, _MIN_ATTEMPT_SECONDS))
            return _open_socket(address, port, attempt_seconds)
        except OSError as error:
            failures.append(error)
    failure = next((failure for failure in failures if isinstance(failure, TimeoutError)), failures[0])
    raise _failure_from_connect_error(failure) from failure


def _open_socket(address: str, port: int, seconds: float) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _failure_from_connect_error(error: OSError) -> ExchangeFailed:
    if isinstance(error, TimeoutError):
        return ExchangeFailed(f"No connection was made within {CONNECT_SECONDS:g} s.", timed_out=True)
    if isinstance(error, ConnectionRefusedError):
        return ExchangeFailed("The connection was refused.")
    return ExchangeFailed("The address cannot be reached.")


def _failure_from_tls_error(error: OSError) -> ExchangeFailed:
    if isinstance(error, TimeoutError):
        return ExchangeFailed(f"TLS was not ready within {CONNECT_SECONDS:g} s.", timed_out=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"The certificate is not valid for this host: {error.verify_message.rstrip('.')}."
        return ExchangeFailed(why, misconfigured=True)
    return ExchangeFailed("The TLS handshake failed.")

"""Connections to strangers' servers: to addresses that may be reached only, and no longer than an exchange may last.

The name is resolved once; what is checked is what is connected to. httpcore keeps the connections, and speaks HTTP.
"""

import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, Final

import httpcore

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.ip_addresses import HostNotResolved, is_public, resolve_host

CONNECT_SECONDS: Final = 3.0
"""What DNS, TCP and TLS may take together."""

_IDLE_SECONDS: Final = 30.0
_MAX_IDLE: Final = 50
_MIN_TRY_SECONDS: Final = 1.0
"""What one of several addresses is given to be connected to, as long as there is time: a lost packet takes a second."""

_making: Final = Lock()


class Unreachable(Exception):
    """There is no connection; says why, in words for people. `timed_out` tells whether it was just too slow.

    `misconfigured`: whether the name does not exist, or the certificate is not valid for it.
    """

    def __init__(self, why: str, *, timed_out: bool = False, misconfigured: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out
        self.misconfigured = misconfigured


@dataclass
class Exchange:
    """One request and its answer. `until`: the moment of `monotonic` when it ends, whatever happens.

    `connected`: whether a connection was made for it. `sent`: the bytes that were written of the request as it was sent
    last. `received`: those that have come back.
    """

    until: float
    connected: bool = False
    sent: int = 0
    received: int = 0


_present: ContextVar[Exchange] = ContextVar("exchange")


@contextmanager
def guarded_exchange(seconds: float) -> Iterator[Exchange]:
    """Let all that the pool does within the block, in this thread, last no longer than these seconds."""
    begun = Exchange(until=monotonic() + seconds)
    token = _present.set(begun)
    try:
        yield begun
    finally:
        _present.reset(token)


def pool() -> httpcore.ConnectionPool:
    """Return this process's connections."""
    with _making:
        return _pool()


def reset() -> None:
    """End those that are kept, and make new ones at the next use: what is trusted has changed."""
    with _making:
        _pool().close()
        _pool.cache_clear()


@lru_cache(maxsize=1)
def _pool() -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(),
        max_connections=None,
        max_keepalive_connections=_MAX_IDLE,
        keepalive_expiry=_IDLE_SECONDS,
        network_backend=_Network(),
    )


class _Network(httpcore.NetworkBackend):
    """Connects to addresses that may be reached. The exchange says how long; what httpcore says of it is not used."""

    def connect_tcp(self, host: str, port: int, *_: Any, **_words: Any) -> httpcore.NetworkStream:
        present = _present.get()
        present.connected = True
        until = min(present.until, monotonic() + CONNECT_SECONDS)
        return _Stream(_connection(_allowed(host, until), port, until), until)


class _Stream(httpcore.NetworkStream):
    """One connection. `until`: when it has to be ready, TLS included."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until

    def read(self, max_bytes: int, *_: Any, **_words: Any) -> bytes:
        present = _present.get()
        try:
            self._connection.settimeout(_left(present.until))
            data = self._connection.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        except OSError as error:
            raise httpcore.ReadError from error
        present.received += len(data)
        return data

    def write(self, buffer: bytes, *_: Any, **_words: Any) -> None:
        rest = memoryview(buffer)
        try:
            while rest:
                present = _present.get()
                self._connection.settimeout(_left(present.until))
                written = self._connection.send(rest)
                present.sent += written
                rest = rest[written:]
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        except OSError as error:
            raise httpcore.WriteError from error

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, *_: Any, **_words: Any
    ) -> httpcore.NetworkStream:
        try:
            self._connection.settimeout(_left(self._until))
            return _Stream(ssl_context.wrap_socket(self._connection, server_hostname=server_hostname), self._until)
        except OSError as error:
            self.close()
            raise _without_tls(error) from error

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(0))


def _left(until: float) -> float:
    """Return the seconds that are left. Raises TimeoutError if there are none."""
    left = until - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _allowed(host: str, until: float) -> list[str]:
    """Return the addresses of a host that may be connected to; there is at least one."""
    try:
        found = resolve_host(host, until)
    except HostNotResolved as error:
        raise Unreachable(str(error), timed_out=error.timed_out, misconfigured=error.no_such_name) from error
    allowed = found if settings().webhook_allow_private else [address for address in found if is_public(address)]
    if not allowed:
        raise Unreachable("The host has no public address.")
    return allowed


def _connection(candidates: list[str], port: int, until: float) -> socket.socket:
    """Return a connection to the first address that takes one."""
    failures: list[OSError] = []
    for tried, address in enumerate(candidates):
        try:
            left = _left(until)
            share = max(left / (len(candidates) - tried), min(left, _MIN_TRY_SECONDS))
            return _dialled(address, port, share)
        except OSError as error:
            failures.append(error)
    failure = next((failure for failure in failures if isinstance(failure, TimeoutError)), failures[0])
    raise _without_connection(failure) from failure


def _dialled(address: str, port: int, seconds: float) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _without_connection(error: OSError) -> Unreachable:
    if isinstance(error, TimeoutError):
        return Unreachable(f"No connection was made within {CONNECT_SECONDS:g} s.", timed_out=True)
    if isinstance(error, ConnectionRefusedError):
        return Unreachable("The connection was refused.")
    return Unreachable("There is no way to the address.")


def _without_tls(error: OSError) -> Unreachable:
    if isinstance(error, TimeoutError):
        return Unreachable(f"TLS was not ready within {CONNECT_SECONDS:g} s.", timed_out=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"The certificate is not valid for this host: {error.verify_message.rstrip('.')}."
        return Unreachable(why, misconfigured=True)
    return Unreachable("The server does not speak TLS as it should.")

"""A server of somebody else's on the loopback interface: keeps what reaches it, and answers as it is told.

with Receiver() as receiver:
    receiver.answer = Reply(status=500)                  # to everything, or
    receiver.answers["/slow"] = Reply(delay=5)           # to one path, or
    receiver.answer = lambda request: Reply(body=request.body)
    ...  # what calls receiver.url
    assert receiver.requests[0].headers["Host"] == ...
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

FOREVER = 3600.0
"""Longer than anybody waits, in seconds; the end of the receiver ends it."""


@dataclass(frozen=True)
class Request:
    """What reached the receiver, and when, in seconds since 1970."""

    method: str
    path: str
    headers: Message
    body: bytes
    at: float


@dataclass(frozen=True)
class Reply:
    """What the receiver answers. A `Content-Length` of its own replaces the true one.

    `delay` is waited before the first byte and `pause` after every single byte, in seconds. `raw` stands for the whole
    answer, status line included. With `closes` the connection ends after it.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""
    delay: float = 0
    pause: float = 0
    raw: bytes | None = None
    closes: bool = False

    def parts(self) -> Iterator[bytes]:
        """Yield the answer, piece by piece."""
        if self.raw is not None:
            yield self.raw
            return
        headers = {"Content-Length": str(len(self.body))} if isinstance(self.body, bytes) else {}
        headers |= self.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        yield f"HTTP/1.1 {self.status} Told So\r\n{lines}\r\n".encode("latin-1")
        yield from [self.body] if isinstance(self.body, bytes) else self.body


HANG = Reply(delay=FOREVER)
"""No answer at all."""


class Receiver(ThreadingTCPServer):
    """A server at `host`, over TLS if `tls` is given. `server_names`: by which names TLS was asked for (SNI).

    It counts its connections, and the bytes that it got rid of. With `reads` off it reads nothing but the headers.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Conversation)
        self.tls = tls
        self.server_names: list[str | None] = []
        if tls:
            tls.sni_callback = lambda _connection, name, _context: self.server_names.append(name)
        self.port: int = self.server_address[1]
        self.answer: Reply | Callable[[Request], Reply] = Reply()
        self.answers: dict[str, Reply | Callable[[Request], Reply]] = {}
        self.requests: list[Request] = []
        self.reads = True
        self.connections = 0
        self.sent = 0
        self.ended = Event()
        self._open: set[socket.socket] = set()
        self._lock = Lock()

    @property
    def url(self) -> str:
        """Where it is, with the path `/`."""
        return self.at(str(self.server_address[0]))

    def at(self, host: str, path: str = "/") -> str:
        """Return its URL by a name of its host."""
        shown = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls else 'http'}://{shown}:{self.port}{path}"

    @property
    def open_connections(self) -> int:
        """How many connections neither side has ended."""
        with self._lock:
            return len(self._open)

    def reply_to(self, request: Request) -> Reply:
        """Keep a request and return what it is answered with."""
        self.requests.append(request)
        told = self.answers.get(request.path, self.answer)
        return told if isinstance(told, Reply) else told(request)

    def drop(self) -> None:
        """End every connection that is open, as a server does that has waited long enough for another request."""
        with self._lock:
            for connection in self._open:
                _shut(connection)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and remember it."""
        connection, address = super().get_request()
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self.connections += 1
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, and end it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: who calls may leave at any time."""

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.shutdown()
        self._thread.join()
        self.drop()
        self.server_close()


class _Conversation(BaseHTTPRequestHandler):
    """One connection, with one request after the other."""

    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()  # here, where nobody else waits for it
        super().setup()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) if self.server.reads else b""
        reply = self.server.reply_to(Request(self.command, self.path, self.headers, body, time.time()))
        self.server.ended.wait(reply.delay)
        for part in reply.parts():
            self._send(part, reply.pause)
        self.close_connection = self.close_connection or reply.closes

    def do_GET(self) -> None:
        self.do_POST()

    def _send(self, part: bytes, pause: float) -> None:
        for piece in [part[i : i + 1] for i in range(len(part))] if pause else [part]:
            if self.server.ended.wait(pause):
                raise ConnectionError
            self.wfile.write(piece)
            self.server.sent += len(piece)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that http.server gave it
        """Log nothing."""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster

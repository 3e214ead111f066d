"""An HTTP server on the loopback interface, which records requests and sends configured replies.

with Receiver() as receiver:
    receiver.default_reply = Reply(status=500)                   # to all requests, or
    receiver.replies_by_path["/slow"] = Reply(delay_seconds=5)   # to one path, or
    receiver.default_reply = lambda request: Reply(body=request.body)
    ...  # send requests to receiver.url
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
from typing import Any, Self

FOREVER_SECONDS = 3600.0
"""A delay longer than any timeout. It ends when the receiver stops."""


@dataclass(frozen=True)
class ReceivedRequest:
    """A request, and the time of its arrival in seconds since 1970."""

    method: str
    path: str
    headers: Message
    body: bytes
    received_at: float


@dataclass(frozen=True)
class Reply:
    """A reply. A `Content-Length` among its headers replaces the correct one.

    `delay_seconds`: the pause before the first byte; `byte_delay_seconds`: the pause before each byte. `raw_response`
    replaces the whole response, including the status line.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""
    delay_seconds: float = 0
    byte_delay_seconds: float = 0
    raw_response: bytes | None = None
    closes_connection: bool = False

    def parts(self) -> Iterator[bytes]:
        if self.raw_response is not None:
            yield self.raw_response
            return
        headers = {"Content-Length": str(len(self.body))} if isinstance(self.body, bytes) else {}
        headers |= self.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        yield f"HTTP/1.1 {self.status} Told So\r\n{lines}\r\n".encode("latin-1")
        yield from [self.body] if isinstance(self.body, bytes) else self.body


NO_REPLY = Reply(delay_seconds=FOREVER_SECONDS)
"""A reply that is never sent."""


class Receiver(ThreadingTCPServer):
    """A server at `host`, with TLS if `tls` is given. `server_names`: the names in TLS handshakes (SNI).

    It counts connections and sent bytes. Without `reads_bodies` it reads only the headers of requests.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _ConnectionHandler)
        self.tls = tls
        self.server_names: list[str | None] = []
        if tls:
            tls.sni_callback = lambda _connection, name, _context: self.server_names.append(name)
        self.port: int = self.server_address[1]
        self.default_reply: Reply | Callable[[ReceivedRequest], Reply] = Reply()
        self.replies_by_path: dict[str, Reply | Callable[[ReceivedRequest], Reply]] = {}
        self.requests: list[ReceivedRequest] = []
        self.reads_bodies = True
        self.connection_count = 0
        self.sent_bytes = 0
        self.stop_event = Event()
        self._open_connections: set[socket.socket] = set()
        self._lock = Lock()

    @property
    def url(self) -> str:
        """The URL of the server with the path `/`."""
        return self.url_at(str(self.server_address[0]))

    def url_at(self, host: str, path: str = "/") -> str:
        """Return the URL of the server with another host name."""
        url_host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls else 'http'}://{url_host}:{self.port}{path}"

    @property
    def open_connection_count(self) -> int:
        with self._lock:
            return len(self._open_connections)

    def reply_to(self, request: ReceivedRequest) -> Reply:
        """Record a request and return the reply to it."""
        self.requests.append(request)
        configured = self.replies_by_path.get(request.path, self.default_reply)
        return configured if isinstance(configured, Reply) else configured(request)

    def close_connections(self) -> None:
        """Close all open connections, as a server with a keep-alive timeout does."""
        with self._lock:
            for connection in self._open_connections:
                _close(connection)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection and track it."""
        connection, address = super().get_request()
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self.connection_count += 1
            self._open_connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open_connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients may disconnect at any time."""

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_event.set()
        self.shutdown()
        self._thread.join()
        self.close_connections()
        self.server_close()


class _ConnectionHandler(BaseHTTPRequestHandler):
    """A connection with consecutive requests."""

    server: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()  # In the thread of the connection, so that it delays no other one.
        super().setup()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) if self.server.reads_bodies else b""
        reply = self.server.reply_to(ReceivedRequest(self.command, self.path, self.headers, body, time.time()))
        self.server.stop_event.wait(reply.delay_seconds)
        for part in reply.parts():
            self._send(part, reply.byte_delay_seconds)
        self.close_connection = self.close_connection or reply.closes_connection

    def do_GET(self) -> None:
        self.do_POST()

    def _send(self, part: bytes, pause: float) -> None:
        for piece in [part[i : i + 1] for i in range(len(part))] if pause else [part]:
            if self.server.stop_event.wait(pause):
                raise ConnectionError
            self.wfile.write(piece)
            self.server.sent_bytes += len(piece)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in http.server
        """Log nothing."""


def _close(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # The client has closed the connection.

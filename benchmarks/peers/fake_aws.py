"""A fake AWS for the stacks: over TLS, in the process that measures, not in the measured one.

It replays responses that an emulator has given before: for a read, the response to the same request; for a write, the
last response to a request of the same kind. So a response takes the same time whatever the emulator would need. It
forwards unknown requests to the emulator.
"""

from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, Final

_WRITE_CALLS: Final = ("TransactWriteItems", "SendMessage", "UpdateItem")
_OK: Final = 200

_Response = tuple[int, str, bytes]


class FakeAws(ThreadingHTTPServer):
    """Replays the emulator's responses, and serves the key set. With `is_recording` it forwards all requests."""

    daemon_threads = True

    def __init__(self, origin: str, key_set: bytes, tls: SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self._emulator_host, self.key_set = origin.removeprefix("http://"), key_set
        self._recorded: dict[Any, _Response] = {}
        self.is_recording = True

    @property
    def url(self) -> str:
        """The URL of the fake AWS."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def respond(self, headers: dict[str, str], body: bytes) -> _Response:
        """Return the response to a call."""
        target = headers["x-amz-target"]
        is_write = target.endswith(_WRITE_CALLS)
        # Each process may order the keys of a batch differently, so sort the bytes.
        cache_key = target if is_write else (target, bytes(sorted(body)))
        if cache_key in self._recorded and not self.is_recording:
            return self._recorded[cache_key]
        response = self._forward(headers, body)
        if response[0] == _OK:
            self._recorded[cache_key] = response
        return response

    def _forward(self, headers: dict[str, str], body: bytes) -> _Response:
        connection = HTTPConnection(self._emulator_host, timeout=30)
        connection.request("POST", "/", body, headers)
        response = connection.getresponse()
        recorded = response.status, response.headers["Content-Type"] or "application/x-amz-json-1.0", response.read()
        connection.close()
        return recorded


class _Handler(BaseHTTPRequestHandler):
    server: FakeAws
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(*self.server.respond({name.lower(): value for name, value in self.headers.items()}, body))

    def do_GET(self) -> None:
        self._send(_OK, "application/json", self.server.key_set)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""

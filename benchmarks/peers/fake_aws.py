"""AWS as the stacks meet it: over TLS, in the process that measures and not in the measured one.

It answers what an emulator has answered before: a read by the answer to the very same question, a write by that to the
last one of its kind. So an answer takes the same time whatever the emulator would take. What was never asked before is
asked of the emulator.
"""

from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, Final

_WRITE_CALLS: Final = ("TransactWriteItems", "SendMessage", "UpdateItem")
_OK: Final = 200

_Response = tuple[int, str, bytes]


class FakeAws(ThreadingHTTPServer):
    """Keeps answers of the emulator at `origin`, and serves the key set. While `learning` it asks for all anew."""

    daemon_threads = True

    def __init__(self, origin: str, key_set: bytes, tls: SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self._emulator_host, self.key_set = origin.removeprefix("http://"), key_set
        self._recorded: dict[Any, _Response] = {}
        self.is_recording = True

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def respond(self, headers: dict[str, str], body: bytes) -> _Response:
        """Return the answer to a call."""
        target = headers["x-amz-target"]
        is_write = target.endswith(_WRITE_CALLS)
        # A client may put the keys of a batch into another order in each process: it is the same question.
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
        """Nothing: what a request took is measured elsewhere."""

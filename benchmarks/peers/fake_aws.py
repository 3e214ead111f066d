"""AWS as the stacks meet it: over TLS, in the process that measures and not in the measured one.

It answers what an emulator has answered before: a read by the answer to the very same question, a write by that to the
last one of its kind. So an answer takes the same time whatever the emulator would take. What was never asked before is
asked of the emulator.
"""

from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, Final

_WRITES: Final = ("TransactWriteItems", "SendMessage", "UpdateItem")
_OK: Final = 200

_Answer = tuple[int, str, bytes]


class StandIn(ThreadingHTTPServer):
    """Keeps answers of the emulator at `origin`, and serves the key set. While `learning` it asks for all anew."""

    daemon_threads = True

    def __init__(self, origin: str, key_set: bytes, tls: SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self._origin, self.key_set = origin.removeprefix("http://"), key_set
        self._known: dict[Any, _Answer] = {}
        self.learning = True

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def answer(self, headers: dict[str, str], body: bytes) -> _Answer:
        """Return the answer to a call."""
        target = headers["x-amz-target"]
        writes = target.endswith(_WRITES)
        # A client may put the keys of a batch into another order in each process: it is the same question.
        asked = target if writes else (target, bytes(sorted(body)))
        if asked in self._known and not self.learning:
            return self._known[asked]
        found = self._asked(headers, body)
        if found[0] == _OK:
            self._known[asked] = found
        return found

    def _asked(self, headers: dict[str, str], body: bytes) -> _Answer:
        connection = HTTPConnection(self._origin, timeout=30)
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        found = answer.status, answer.headers["Content-Type"] or "application/x-amz-json-1.0", answer.read()
        connection.close()
        return found


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(*self.server.answer({name.lower(): value for name, value in self.headers.items()}, body))

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

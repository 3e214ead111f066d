"""Serves the service in memory over HTTP, with the faults that a client asks for by a header of its request."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Final

from tests.harness.api import STAGE_PATH, ApiClient
from tests.harness.threaded_servers import serve_in_thread

FAULT_HEADER: Final = "X-Fault"
"""A fault, how often it happens to requests with the same header, and any text: `lose-answer 1 first test`."""

_GATEWAY_FAULTS: Final = {"unavailable": (503, "Service Unavailable"), "rate-limited": (429, "Too Many Requests")}
_HEADERS_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class FaultyServer(ThreadingHTTPServer):
    """`requests`: the method, path and idempotency key of each request that arrived."""

    daemon_threads = True

    def __init__(self, api: ApiClient) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api, self.lock = api, Lock()
        self.requests: list[tuple[str, str, str | None]] = []
        self.fault_counts: Counter[str] = Counter()

    @property
    def url(self) -> str:
        """The URL of the service, with the path of its stage."""
        return f"http://127.0.0.1:{self.server_address[1]}{STAGE_PATH}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyServer

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self._next_fault()
        path = self.path.removeprefix(STAGE_PATH)
        # The requests of a test are few, and the service in memory answers one at a time.
        with self.server.lock:
            self.server.requests.append((self.command, path, self.headers.get("Idempotency-Key")))
            if fault in _GATEWAY_FAULTS:
                self._send_as_gateway(*_GATEWAY_FAULTS[fault])
                return
            headers = {n: v for n, v in self.headers.items() if n.lower() not in _HEADERS_OF_THE_CONNECTION}
            answer = self.server.api.request(self.command, path, body=body, headers=headers)
        if fault == "lose-answer":
            self.close_connection = True
            return
        self._send(answer.status, dict(answer.headers), answer.text.encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that http.server calls

    def _next_fault(self) -> str:
        text = self.headers.get(FAULT_HEADER, "")
        if not text:
            return ""
        name, times, *_ = text.split()
        self.server.fault_counts[text] += 1
        return name if self.server.fault_counts[text] <= int(times) else ""

    def _send_as_gateway(self, status: int, message: str) -> None:
        body = json.dumps({"message": message}).encode()
        self._send(status, {"Content-Type": "application/json", "Retry-After": "0"}, body)

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _HEADERS_OF_THE_CONNECTION:
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the parent's parameter
        """Write nothing: the service logs its requests itself."""


@contextmanager
def serve_with_faults(api: ApiClient) -> Iterator[FaultyServer]:
    """Serve the service in memory until the end of the block."""
    server = FaultyServer(api)
    with serve_in_thread(server):
        yield server

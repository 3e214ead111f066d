"""Chalice's development server, extended to speak HTTP/1.1 (RFC 9112) like API Gateway."""

import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from threading import Condition
from typing import Any, Final

from chalice.app import Chalice
from chalice.config import Config
from chalice.local import (
    ChaliceRequestHandler,
    LocalChalice,
    LocalDevServer,
    LocalGatewayException,
    ThreadedHTTPServer,
)
from uuid_utils import uuid7

from chalicelib.kernel.core.problems import Problem, no_such_route
from chalicelib.kernel.http.request import LIST_HEADERS
from infrastructure.gateway import PROBLEMS, response_headers
from local.server.compression import compress_response, decompress_request
from local.server.gateway_headers import remap_headers
from local.server.http_body import MAX_BODY_BYTES, read_body
from local.server.nearest_routes import find_nearest_routes
from local.server.shutdown import shut_down_on_sigterm
from local.server.site_hosts import is_site_host, resolve_url

SHUTDOWN_SECONDS: Final = 5.0

_STOP_POLL_SECONDS: Final = 0.1
"""How often the server looks whether it has to stop."""

_READ_BYTES: Final = 65_536
_QUERY: Final = re.compile(r"\?\S+")
_STATUSES_WITHOUT_BODY: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_READ_METHODS: Final = ("GET", "HEAD")
_SITE_IS_READ_ONLY: Final = Problem(
    "method_not_allowed", "A site can only be read. Allowed methods: GET, HEAD.", headers={"Allow": "GET, HEAD"}
)
_NOT_HTTP: Final = Problem("invalid_header", "This is not a request of HTTP/1.1.")


class Server(ThreadedHTTPServer):
    """Serve each connection in its own thread, and count the requests in progress."""

    # With the default of 5, a sixth simultaneous connection is retried only after a second.
    request_queue_size = 128

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.stopping = False
        self._changed, self._requests_in_progress = Condition(), 0

    @contextmanager
    def request_in_progress(self) -> Iterator[None]:
        """Count a request as in progress within the context."""
        with self._changed:
            self._requests_in_progress += 1
        try:
            yield
        finally:
            with self._changed:
                self._requests_in_progress -= 1
                self._changed.notify_all()

    def serve_forever(self, poll_interval: float = _STOP_POLL_SECONDS) -> None:
        """Handle connections until `shutdown` is called."""
        super().serve_forever(poll_interval)

    def close_gracefully(self) -> None:
        """Close the socket, and wait up to SHUTDOWN_SECONDS until no request is in progress."""
        self.stopping = True
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: not self._requests_in_progress, SHUTDOWN_SECONDS)


class Handler(ChaliceRequestHandler):
    """Handle requests: read any body, respond to HEAD without one, and send problems for invalid requests.

    Requests to the hosts of sites are mapped to the operation that returns the pages of sites.
    """

    # Otherwise each response on a keep-alive connection is delayed by 44 ms.
    disable_nagle_algorithm = True
    server: Server
    command: str
    path: str

    def __init__(self, request: bytes, client_address: tuple[str, int], server: Server, **app: Any) -> None:
        self._min_compressed_bytes: int | None = app["config"].minimum_compression_size
        super().__init__(request, client_address, server, **app)

    def __getattr__(self, name: str) -> Any:
        """Pass every HTTP method to the service."""
        if name.startswith("do_"):
            return self._generic_handle
        raise AttributeError(name)

    def _generic_handle(self) -> None:
        with self.server.request_in_progress():
            try:
                if is_site_host(self.headers.get("Host", "")):
                    self._map_to_operation_for_visits()
                super()._generic_handle()
            except Problem as problem:
                self._reject(problem)
            except UnicodeEncodeError:  # For an unknown path, Chalice repeats the credential in its error.
                self._send_no_such_route()
            self.wfile.flush()
            self.close_connection |= self.server.stopping

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_PATCH = do_OPTIONS = _generic_handle  # noqa: N815 - the library's

    @property
    def _is_head(self) -> bool:
        line: str = self.requestline
        return line.startswith("HEAD ")  # The command of a request for a site's page is GET.

    def _map_to_operation_for_visits(self) -> None:
        """Replace the request by one for what the host has to send. Raises Problem if it is not GET or HEAD."""
        if self.command not in _READ_METHODS:
            raise _SITE_IS_READ_ONLY
        self.command = "GET"
        self.path = resolve_url(self.headers["Host"], self.path)
        for name in ("Accept", "Authorization"):
            del self.headers[name]
        self.headers["Accept"] = "text/html"

    def _parse_payload(self) -> tuple[dict[str, str], bytes | None]:
        joined = {name: ", ".join(lines) for name in LIST_HEADERS if (lines := self.headers.get_all(name))}
        single = {name: value for name, value in self.headers.items() if name.lower() not in joined}
        body = decompress_request(read_body(self.headers, self.rfile), self.headers.get("Content-Encoding", ""))
        return single | joined, body or None

    def _send_error_response(self, error: LocalGatewayException) -> None:
        if error.CODE == HTTPStatus.FORBIDDEN:
            self._send_no_such_route()
        else:
            self._send_problem(PROBLEMS["DEFAULT_5XX"])

    def _send_no_such_route(self) -> None:
        self._send_problem(
            no_such_route(dict.fromkeys(find_nearest_routes(self.command, self.path.partition("?")[0]), ""))
        )

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's
        """Log without queries, because they can contain tokens."""
        super().log_message("%s", _QUERY.sub("?…", format % args))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a problem for data that is not an HTTP request."""
        self.log_error("code %d, message %s, %s", code, message, explain)
        self.request_version = (
            self.protocol_version
        )  # After a malformed request it is HTTP/0.9, which has no status line.
        self._reject(_NOT_HTTP)

    def _reject(self, problem: Problem) -> None:
        """Send a problem and close the connection, because the beginning of the next request is unknown."""
        self.close_connection = True
        self._send_problem(problem)
        # A client that still sends would not receive the response if unread data remained.
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            left = 2 * MAX_BODY_BYTES
            while left > 0 and (unread := self.rfile.read1(_READ_BYTES)):
                left -= len(unread)

    def _send_http_response(self, code: int, headers: Mapping[str, Any], body: str | bytes | None) -> None:
        """Send a response of the service as API Gateway passes it on."""
        headers, content = remap_headers(headers), body.encode() if isinstance(body, str) else body or b""
        if not self._is_head:
            accept_encoding = ",".join(self.headers.get_all("Accept-Encoding", []))
            headers, content = compress_response(headers, content, accept_encoding, self._min_compressed_bytes)
        self._write_response(code, headers, content)

    def _send_problem(self, problem: Problem) -> None:
        request_id = str(uuid7())
        path = self.path.partition("?")[0] if self.command else "/"
        document = problem.document(instance=path, request_id=request_id)
        headers = response_headers(problem) | {"X-Request-Id": request_id}
        self._write_response(problem.status, headers, json.dumps(document).encode())

    def _write_response(self, code: int, headers: Mapping[str, Any], content: bytes) -> None:
        self.send_response(code)
        length = {} if code in _STATUSES_WITHOUT_BODY else {"Content-Length": str(len(content))}
        ends = {"Connection": "close"} if self.close_connection or self.server.stopping else {}
        self._send_headers({"Content-Type": "application/json", **headers, **length, **ends})
        if not self._is_head and code not in _STATUSES_WITHOUT_BODY:
            self.wfile.write(content)


def create_server(app: Chalice, config: Config, port: int) -> LocalDevServer:
    """Return the server of an app on 127.0.0.1. Port 0 selects a free port."""
    # On Lambda, a process handles one request at a time, which Chalice stores in the app. Here each thread has one.
    app.__class__ = LocalChalice
    return LocalDevServer(app, config, "127.0.0.1", port, handler_cls=Handler, server_cls=Server)


def serve(app: Chalice, config: Config, port: int) -> None:
    """Serve an app on 127.0.0.1 until SIGTERM. Requests in progress are completed first."""
    server = create_server(app, config, port)
    shut_down_on_sigterm(server.server)
    try:
        server.serve_forever()
    finally:
        server.server.close_gracefully()

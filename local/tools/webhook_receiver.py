"""A receiver for webhooks that prints each event and responds with one status, by default 204."""

import json
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class PortInUse(Exception):
    """The receiver cannot listen. The message says why and what to do."""


def create_receiver(port: int, status: int = 204) -> ThreadingHTTPServer:
    """Return a server on a local port (0: any free one) that prints each event. Raises PortInUse.

    `status`: that of its responses.
    """
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, status=status))
    except OSError:
        raise PortInUse(f"Port {port} is in use. Choose another one with --port.") from None


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, *arguments: Any, status: int) -> None:
        self._status = status
        super().__init__(*arguments)  # Handles the request.

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(_format_body(body), flush=True)
        self.send_response(self._status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log no requests: only events are printed."""


def _format_body(body: bytes) -> str:
    """Return the type and data of an event in a line. Return any other body, such as a chat message, unchanged."""
    try:
        payload = json.loads(body)
        return f"{payload['type']} {json.dumps(payload['data'], ensure_ascii=False)}"
    except (ValueError, TypeError, KeyError):
        return body.decode(errors="replace")

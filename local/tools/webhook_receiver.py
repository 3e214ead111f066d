"""A program that webhooks can be sent to: prints what it is told, and takes it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class NoReceiver(Exception):
    """It can't listen; says why, and what to do."""


def receiver(port: int) -> ThreadingHTTPServer:
    """Return a server on a port of this machine (0 takes a free one) that prints each event. Raises NoReceiver."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), _Conversation)
    except OSError:
        raise NoReceiver(f"Port {port} is taken. Try another by --port.") from None


class _Conversation(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(_line(body), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing beside the events."""


def _line(body: bytes) -> str:
    """Return what an event says in a line; of a channel's message, and all else, the beginning."""
    try:
        payload = json.loads(body)
        return f"{payload['type']} {json.dumps(payload['data'], ensure_ascii=False)}"
    except (ValueError, TypeError, KeyError):
        return body.decode(errors="replace")

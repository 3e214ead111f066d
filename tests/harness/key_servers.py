"""Servers of JSON Web Key Sets on the loopback interface, which can misbehave."""

import json
import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import sleep
from typing import Any, Self


class Issuer(ThreadingHTTPServer):
    """A server that publishes `content` and records the paths of requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_port}/keys?of=users"
        self.asked: list[str] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.content = b""
        self.go_on = Event()
        self.go_on.set()

    def publish(self, *keys: Any) -> None:
        """Publish a key set with exactly these keys."""
        self.content = json.dumps({"keys": keys}).encode()


class Answer(BaseHTTPRequestHandler):
    """Responds with the published content, after waiting for permission."""

    server: Issuer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.go_on.wait(5)
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.content)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Trickle:
    """A server that sends one part of its response byte by byte without an end, until the client disconnects."""

    def __init__(self, part: str) -> None:
        head = {"status": "", "headers": "HTTP/1.1 200 OK\r\n"}.get(part, "HTTP/1.1 200 OK\r\n\r\n")
        self._head = head.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/keys"
        self.was_left = Event()
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client, suppress(OSError):
            client.sendall(self._head)
            for _ in range(500):
                client.sendall(b"x")
                sleep(0.02)
            return
        self.was_left.set()

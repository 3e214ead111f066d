"""Servers of JSON Web Key Sets on the loopback interface, which can misbehave."""

import json
import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import sleep
from typing import Any, Self


class KeyServer(ThreadingHTTPServer):
    """A server that publishes `content` and records the paths of requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), KeyRequestHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/keys?of=users"
        self.requested_paths: list[str] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.content = b""
        self.may_respond = Event()
        self.may_respond.set()

    def publish(self, *keys: Any) -> None:
        """Publish a key set with exactly these keys."""
        self.content = json.dumps({"keys": keys}).encode()


class KeyRequestHandler(BaseHTTPRequestHandler):
    """Responds with the published content, after waiting for permission."""

    server: KeyServer

    def do_GET(self) -> None:
        self.server.requested_paths.append(self.path)
        self.server.may_respond.wait(60)
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.content)), **self.server.headers}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # The client may have disconnected after its timeout.
            self.end_headers()
            self.wfile.write(self.server.content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class TricklingKeyServer:
    """A server that sends one part of its response byte by byte without an end, until the client disconnects."""

    def __init__(self, part: str) -> None:
        head = {"status": "", "headers": "HTTP/1.1 200 OK\r\n"}.get(part, "HTTP/1.1 200 OK\r\n\r\n")
        self._head = head.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/keys"
        self.client_disconnected = Event()
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
        self.client_disconnected.set()

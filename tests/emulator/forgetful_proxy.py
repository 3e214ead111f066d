"""A proxy in front of the emulator that can forget connections, as devices between a function and AWS do.

A forgotten connection stays open without a sign. The next request on it is reset.
"""

import select
import socket
import struct
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Final
from urllib.parse import urlsplit

_CHUNK_BYTES: Final = 65_536
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class ForgetfulProxy(ThreadingTCPServer):
    """`connections`: how many were opened. `resets`: how many requests arrived on forgotten connections."""

    daemon_threads = True

    def __init__(self, target_url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Forwarder)
        parts = urlsplit(target_url)
        self.target = (str(parts.hostname), int(parts.port or 80))
        self.connections = self.forgotten = self.resets = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def forget_connections(self) -> None:
        self.forgotten = self.connections


class _Forwarder(BaseRequestHandler):
    server: ForgetfulProxy
    request: socket.socket

    def handle(self) -> None:
        self.server.connections += 1
        number = self.server.connections
        with socket.create_connection(self.server.target) as upstream:
            while True:
                readable, _, _ = select.select([self.request, upstream], [], [])
                source = readable[0]
                if source is self.request and number <= self.server.forgotten and self._has_request():
                    self.server.resets += 1
                    self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                    return
                if not (data := source.recv(_CHUNK_BYTES)):
                    return
                (upstream if source is self.request else self.request).sendall(data)

    def _has_request(self) -> bool:
        return bool(self.request.recv(1, socket.MSG_PEEK))

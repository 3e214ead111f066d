"""The DNS server of the local stage: `python -m local.server.dns_server <port> <zone file>`.

It reads the zone file for each query; `python -m local dns` changes the file. Queries for other names are forwarded to
the machine's DNS servers, except reserved names: names below `localhost` resolve to this machine (RFC 6761), and names
below `example`, `test`, `example.com` and similar ones do not exist unless the zone contains them.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from errno import EADDRINUSE
from pathlib import Path
from socketserver import BaseRequestHandler, BaseServer, StreamRequestHandler, ThreadingTCPServer, ThreadingUDPServer
from threading import Thread
from typing import Final

from dns import exception, message, query, rcode, rdatatype, resolver, rrset
from dns.flags import Flag

ValuesByType = Mapping[str, Sequence[str]]
"""The values of a name by record type."""
Responder = Callable[[message.Message], message.Message | None]

TYPES: Final = ("A", "AAAA", "CNAME", "TXT")
LOOPBACK_VALUES: Final = {"A": ["127.0.0.1"], "AAAA": ["::1"]}

_RESERVED_NAMES: Final = (
    "example",
    "test",
    "invalid",
    "localhost",
    "local",
    "internal",
    "example.com",
    "example.net",
    "example.org",
)
_MAX_BIND_ATTEMPTS: Final = 10
_MAX_CNAME_LINKS: Final = 16
_MAX_UDP_BYTES: Final = 512
_MAX_TEXT_CHARACTERS: Final = 255
_PORT: Final = 53
_FORWARD_TIMEOUT_SECONDS: Final = 3.0
"""Timeout for each of the machine's DNS servers."""


class Nameserver:
    """A DNS server (RFC 1034) on a port of this machine, over UDP and TCP. Port 0 selects a free one.

    `answer` returns the response to a query; for None, the server does not respond.
    """

    def __init__(self, answer: Responder, port: int = 0) -> None:
        self._tcp, self._udp = _bind_servers(answer, port)
        self.address = f"127.0.0.1:{self._udp.server_address[1]}"

    def start(self) -> None:
        """Start to respond."""
        for server in (self._tcp, self._udp):
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        """Stop to respond."""
        for server in (self._tcp, self._udp):
            server.shutdown()
            server.server_close()


def _bind_servers(respond: Responder, port: int) -> tuple["_Tcp", "_Udp"]:
    """Return servers bound to the same TCP and UDP port. For port 0, try several. Raises OSError."""
    for _ in range(_MAX_BIND_ATTEMPTS):
        tcp = _Tcp(respond, port)
        try:
            return tcp, _Udp(respond, tcp.server_address[1])
        except OSError:
            tcp.server_close()
    raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))


class _Tcp(ThreadingTCPServer):
    daemon_threads, block_on_close, allow_reuse_address = True, False, True

    def __init__(self, answer: Responder, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.answer = answer


class _Udp(ThreadingUDPServer):
    daemon_threads, block_on_close = True, False

    def __init__(self, answer: Responder, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Datagram)
        self.answer = answer


class _Datagram(BaseRequestHandler):
    def handle(self) -> None:
        data, connection = self.request
        question = message.from_wire(data)
        if answer := _respond(self.server, question):
            connection.sendto(_to_datagram(question, answer), self.client_address)


class _Connection(StreamRequestHandler):
    def handle(self) -> None:
        question = message.from_wire(self.rfile.read(int.from_bytes(self.rfile.read(2), "big")))
        if answer := _respond(self.server, question):
            wire = answer.to_wire()
            self.wfile.write(len(wire).to_bytes(2, "big") + wire)


def _respond(server: BaseServer, question: message.Message) -> message.Message | None:
    answer: Responder = server.answer  # type: ignore[attr-defined]  # both server classes have it
    return answer(question)


def _to_datagram(question: message.Message, answer: message.Message) -> bytes:
    """Return a response that fits into a datagram, or a truncated one, so that the client repeats the query by TCP."""
    try:
        return answer.to_wire(max_size=_MAX_UDP_BYTES)
    except exception.TooBig:
        short = message.make_response(question, recursion_available=True)
        short.flags |= Flag.TC
        return short.to_wire()


def resolve(question: message.Message, values_of: Callable[[str], ValuesByType | None]) -> message.Message:
    """Return a resolver's response from known values, following CNAME records."""
    answer = message.make_response(question, recursion_available=True)
    name, kind = parse_question(question)
    for _ in range(_MAX_CNAME_LINKS):
        held = values_of(name)
        if held is None:
            answer.set_rcode(rcode.NXDOMAIN)
            break
        if kind in held or not held.get("CNAME"):
            if held.get(kind):
                answer.answer.append(build_rrset(name, kind, held[kind]))
            break
        answer.answer.append(build_rrset(name, "CNAME", held["CNAME"]))
        name = held["CNAME"][0].rstrip(".").lower()
    return answer


def parse_question(question: message.Message) -> tuple[str, str]:
    """Return the name of a query in lower case, and its type."""
    [wanted] = question.question
    return wanted.name.to_text(omit_final_dot=True).lower(), rdatatype.to_text(wanted.rdtype)


def build_rrset(name: str, kind: str, values: Sequence[str]) -> rrset.RRset:
    """Return records of a name. Raises DNSException for an invalid value."""
    written = {"TXT": _quote_text, "CNAME": lambda value: f"{value.rstrip('.')}."}.get(kind, str)
    return rrset.from_text(f"{name}.", 0, "IN", kind, *map(written, values))


def _quote_text(text: str) -> str:
    """Return a text as quoted strings of limited length, as in a zone file."""
    escaped = [character if character not in '"\\' else f"\\{character}" for character in text]
    pieces = (
        escaped[start : start + _MAX_TEXT_CHARACTERS] for start in range(0, max(len(escaped), 1), _MAX_TEXT_CHARACTERS)
    )
    return " ".join(f'"{"".join(piece)}"' for piece in pieces)


def zone_responder(file: Path) -> Responder:
    """Return a function that responds from a zone file."""

    def answer(question: message.Message) -> message.Message:
        name, _ = parse_question(question)
        zone = read_zone(file)
        if name in zone or any(f".{name}".endswith(f".{each}") for each in _RESERVED_NAMES):
            return resolve(question, lambda each: zone.get(each, LOOPBACK_VALUES if _is_localhost(each) else None))
        return _forward(question)

    return answer


def _is_localhost(name: str) -> bool:
    return f".{name}".endswith(".localhost")


def read_zone(file: Path) -> dict[str, dict[str, list[str]]]:
    """Return the records of a zone file. A missing file is an empty zone."""
    known: dict[str, dict[str, list[str]]] = json.loads(file.read_text()) if file.exists() else {}
    return known


def _forward(question: message.Message) -> message.Message:
    """Return the response of the first of the machine's servers that responds, or SERVFAIL."""
    for server in _system_servers():
        try:
            answer, _ = query.udp_with_fallback(question, server, _FORWARD_TIMEOUT_SECONDS, _PORT)
        except (exception.DNSException, OSError):
            continue
        return answer
    failure = message.make_response(question, recursion_available=True)
    failure.set_rcode(rcode.SERVFAIL)
    return failure


def _system_servers() -> list[str]:
    try:
        return [str(server) for server in resolver.Resolver().nameservers]
    except resolver.NoResolverConfiguration:
        return []


if __name__ == "__main__":
    Nameserver(zone_responder(Path(sys.argv[2])), int(sys.argv[1])).start()
    signal.pause()

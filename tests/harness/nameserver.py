"""A DNS server on the loopback interface, whose replies can change from query to query.

with Nameserver() as nameserver:
    nameserver.set_replies("hooks.example", ["203.0.113.7", "2001:db8::7"])
    nameserver.set_replies("rebinding.example", ["203.0.113.7"], ["127.0.0.1"])  # from the second query on
    nameserver.set_replies("broken.example", "SERVFAIL")
    nameserver.set_replies("shop.example", ["cname.atrium.example"], record_type="CNAME")
    configure(dns_nameservers=nameserver.address)
"""

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from threading import Lock
from time import sleep
from typing import Final, Literal, Self

from dns.message import Message, make_response
from dns.rcode import Rcode

from local.server import dns_server

DnsFailure = Literal["NXDOMAIN", "SERVFAIL", "REFUSED", "SILENCE"]
DnsReply = Sequence[str] | DnsFailure
"""The reply to a query: the values of the records, or a failure."""

_ADDRESS_RECORD_TYPES: Final = {4: "A", 6: "AAAA"}


class Nameserver(dns_server.Nameserver):
    """A DNS server with configured names. All other names do not exist."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.delay_seconds = 0.0
        self.questions: list[tuple[str, str]] = []
        self._replies: dict[tuple[str, str], tuple[DnsReply, ...]] = {}
        self._query_counts: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def set_replies(self, name: str, *replies: DnsReply, record_type: str | None = None) -> None:
        """Set the replies to consecutive queries for a name. The last one is repeated.

        Each record type has its own replies. By default these are the replies for A and AAAA.
        """
        for each in [record_type] if record_type else _ADDRESS_RECORD_TYPES.values():
            self._replies[name, each] = replies

    def remove_name(self, name: str) -> None:
        self._replies = {key: replies for key, replies in self._replies.items() if key[0] != name}

    def _answer(self, question: Message) -> Message | None:
        name, record_type = dns_server.parse_question(question)
        reply = self._next_reply(name, record_type)
        if reply == "SILENCE":
            return None
        sleep(self.delay_seconds)
        if isinstance(reply, str):
            response = make_response(question, recursion_available=True)
            response.set_rcode(Rcode[reply])
            return response
        return dns_server.resolve(question, self._zone(name, record_type, reply).get)

    def _next_reply(self, name: str, record_type: str) -> DnsReply | None:
        """Return the reply to the next query for a name, or None if it has none, and record the query."""
        with self._lock:
            self.questions.append((name, record_type))
            replies = self._replies.get((name, record_type))
            count = self._query_counts[name, record_type]
            self._query_counts[name, record_type] += 1
            return replies[min(count, len(replies) - 1)] if replies else None

    def _zone(self, name: str, record_type: str, reply: Sequence[str] | None) -> dict[str, dict[str, Sequence[str]]]:
        """Return the records of all names: the current reply for the queried name, the last reply for the others."""
        zone: dict[str, dict[str, Sequence[str]]] = {}
        for (known_name, known_type), replies in self._replies.items():
            current = reply if reply is not None and (known_name, known_type) == (name, record_type) else replies[-1]
            values = [] if isinstance(current, str) else current
            if known_type in _ADDRESS_RECORD_TYPES.values():
                values = [value for value in values if _ADDRESS_RECORD_TYPES[ip_address(value).version] == known_type]
            zone.setdefault(known_name, {})[known_type] = values
        return zone

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

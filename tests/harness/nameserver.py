"""A DNS server on the loopback interface whose answers can change from one question to the next.

with Nameserver() as nameserver:
    nameserver.says("hooks.example", ["203.0.113.7", "2001:db8::7"])
    nameserver.says("rebinding.example", ["203.0.113.7"], ["127.0.0.1"])  # the second time, and from then on
    nameserver.says("broken.example", "SERVFAIL")
    configure(dns_nameservers=nameserver.address)
"""

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from socketserver import BaseRequestHandler, ThreadingUDPServer
from threading import Lock, Thread
from time import sleep
from types import TracebackType
from typing import Final, Literal, Self

from dns.message import from_wire, make_response
from dns.rcode import Rcode
from dns.rdatatype import to_text
from dns.rrset import from_text

Failure = Literal["NXDOMAIN", "SERVFAIL", "REFUSED", "SILENCE"]
Turn = Sequence[str] | Failure
"""What a name is answered with: its addresses, or why there are none."""

_TYPES: Final = {4: "A", 6: "AAAA"}


class Nameserver(ThreadingUDPServer):
    """Knows the names that it was told; of all others it says that they don't exist. `delay`: in seconds."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Question)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.delay = 0.0
        self.questions: list[tuple[str, str]] = []
        self._turns: dict[str, tuple[Turn, ...]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def says(self, name: str, *turns: Turn, of: str | None = None) -> None:
        """Let a name be answered with one turn after the other, the last of them ever after.

        Each type of question has turns of its own; `of` says for which type these are, else they are for all.
        """
        for kind in [of] if of else _TYPES.values():
            self._turns[f"{name} {kind}"] = turns

    def turn(self, name: str, kind: str) -> Turn:
        """Return what a question is answered with."""
        with self._lock:
            self.questions.append((name, kind))
            turns = self._turns.get(f"{name} {kind}", ("NXDOMAIN",))
            before = self._asked[name, kind]
            self._asked[name, kind] += 1
            return turns[min(before, len(turns) - 1)]

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Question(BaseRequestHandler):
    """One question."""

    server: Nameserver

    def handle(self) -> None:
        data, connection = self.request
        question = from_wire(data)
        [asked] = question.question
        name, kind = asked.name.to_text(omit_final_dot=True).lower(), to_text(asked.rdtype)
        turn = self.server.turn(name, kind)
        if turn == "SILENCE":
            return
        sleep(self.server.delay)
        answer = make_response(question, recursion_available=True)
        if isinstance(turn, str):
            answer.set_rcode(Rcode[turn])
        elif addresses := [address for address in turn if _TYPES[ip_address(address).version] == kind]:
            answer.answer.append(from_text(asked.name, 0, "IN", kind, *addresses))
        connection.sendto(answer.to_wire(), self.client_address)

"""A DNS server on the loopback interface whose answers can change from one question to the next.

with Nameserver() as nameserver:
    nameserver.says("hooks.example", ["203.0.113.7", "2001:db8::7"])
    nameserver.says("rebinding.example", ["203.0.113.7"], ["127.0.0.1"])  # the second time, and from then on
    nameserver.says("broken.example", "SERVFAIL")
    nameserver.says("shop.example", ["cname.atrium.example"], of="CNAME")
    configure(dns_nameservers=nameserver.address)
"""

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from threading import Lock
from time import sleep
from types import TracebackType
from typing import Final, Literal, Self

from dns.message import Message, make_response
from dns.rcode import Rcode

from local.server import dns_server

Failure = Literal["NXDOMAIN", "SERVFAIL", "REFUSED", "SILENCE"]
Turn = Sequence[str] | Failure
"""What a question is answered with: what the name holds, or why there is nothing."""

_TYPES: Final = {4: "A", 6: "AAAA"}


class Nameserver(dns_server.Nameserver):
    """Knows the names that it was told; of all others it says that they don't exist. `delay`: in seconds."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.delay = 0.0
        self.questions: list[tuple[str, str]] = []
        self._turns: dict[tuple[str, str], tuple[Turn, ...]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def says(self, name: str, *turns: Turn, of: str | None = None) -> None:
        """Let a name be answered with one turn after the other, the last of them ever after.

        Each type of question has turns of its own; `of` says for which type these are, else they are addresses.
        """
        for kind in [of] if of else _TYPES.values():
            self._turns[name, kind] = turns

    def forgets(self, name: str) -> None:
        """Let there be no such name any more."""
        self._turns = {key: turns for key, turns in self._turns.items() if key[0] != name}

    def _answer(self, question: Message) -> Message | None:
        name, kind = dns_server.asked(question)
        turn = self._turn(name, kind)
        if turn == "SILENCE":
            return None
        sleep(self.delay)
        if isinstance(turn, str):
            answer = make_response(question, recursion_available=True)
            answer.set_rcode(Rcode[turn])
            return answer
        return dns_server.answered(question, self._zone(name, kind, turn).get)

    def _turn(self, name: str, kind: str) -> Turn | None:
        """Return what a question is answered with; None if nothing was said of it."""
        with self._lock:
            self.questions.append((name, kind))
            turns = self._turns.get((name, kind))
            before = self._asked[name, kind]
            self._asked[name, kind] += 1
            return turns[min(before, len(turns) - 1)] if turns else None

    def _zone(self, name: str, kind: str, turn: Sequence[str] | None) -> dict[str, dict[str, Sequence[str]]]:
        """Return all that it was told, each name as it is in the end; the one that is asked for as it is now."""
        zone: dict[str, dict[str, Sequence[str]]] = {}
        for (known, its_kind), turns in self._turns.items():
            said = turn if turn is not None and (known, its_kind) == (name, kind) else turns[-1]
            values = [] if isinstance(said, str) else [value for value in said if _is_of(its_kind, value)]
            zone.setdefault(known, {})[its_kind] = values
        return zone

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _is_of(kind: str, value: str) -> bool:
    return kind not in _TYPES.values() or _TYPES[ip_address(value).version] == kind

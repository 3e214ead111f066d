"""Questions to DNS (RFC 1034): what a name holds at the moment.

They are asked of the servers that `DNS_NAMESERVERS` says, and of nothing else: no file of hosts, no search list.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.ip_networks import dns_servers
from chalicelib.kernel.core.settings import settings

if TYPE_CHECKING:
    from dns.resolver import Resolver

Question = Literal["A", "AAAA", "CNAME", "TXT"]

NO_SUCH_NAME: Final[list[str]] = []
"""What is answered where DNS says that there is no such name (NXDOMAIN): this very list, which stays empty."""

_ONE_TRY_SECONDS: Final = 1.0


class DnsError(Exception):
    """Nobody knows what a name holds. `timed_out` tells whether its servers have just not answered in time."""

    def __init__(self, *, timed_out: bool) -> None:
        super().__init__("no answer in time" if timed_out else "no answer that says something")
        self.timed_out = timed_out


def query_dns(name: str, question: Question, seconds: float) -> list[str]:
    """Return what a name holds; `NO_SUCH_NAME` if there is none. Raises Unanswered, after so many seconds."""
    from dns.exception import DNSException, Timeout
    from dns.resolver import NXDOMAIN

    try:
        answer = _resolver(settings().dns_nameservers).resolve(
            name, question, lifetime=seconds, search=False, raise_on_no_answer=False
        )
    except NXDOMAIN:
        return NO_SUCH_NAME
    except DNSException as error:
        raise DnsError(timed_out=isinstance(error, Timeout)) from error
    return [_text(record) for record in answer.rrset or ()]


def _text(record: Any) -> str:
    if hasattr(record, "strings"):
        return b"".join(record.strings).decode(errors="replace")
    if hasattr(record, "target"):
        return ascii_lower(str(record.target.to_text(omit_final_dot=True)))
    return str(record.address)


@lru_cache(maxsize=1)
def _resolver(nameservers: str) -> "Resolver":
    from dns.nameserver import Do53Nameserver
    from dns.resolver import Resolver

    resolver = Resolver(configure=not nameservers)
    if nameservers:
        resolver.nameservers = [Do53Nameserver(address, port) for address, port in dns_servers(nameservers)]
    resolver.timeout = _ONE_TRY_SECONDS
    return resolver

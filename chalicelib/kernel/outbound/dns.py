"""DNS queries (RFC 1034).

They are sent only to the servers in `DNS_NAMESERVERS`, if set. Hosts files and search lists are not used.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.ip_networks import parse_dns_server_endpoints
from chalicelib.kernel.core.settings import settings

if TYPE_CHECKING:
    from dns.resolver import Resolver

RecordType = Literal["A", "AAAA", "CNAME", "TXT"]

NO_SUCH_NAME: Final[list[str]] = []
"""The result if the name does not exist (NXDOMAIN). Compare with `is`, because a name without records also has []."""

_ATTEMPT_SECONDS: Final = 1.0


class DnsError(Exception):
    """The query failed. `timed_out`: whether the servers did not respond in time."""

    def __init__(self, *, timed_out: bool) -> None:
        super().__init__(
            "the DNS servers did not respond in time" if timed_out else "the DNS servers returned an error"
        )
        self.timed_out = timed_out


def query_dns(name: str, record_type: RecordType, timeout_seconds: float) -> list[str]:
    """Return the records of a name, or `NO_SUCH_NAME`. Raises DnsError, at the latest after the time-out."""
    from dns.exception import DNSException, Timeout
    from dns.resolver import NXDOMAIN

    try:
        response = _resolver(settings().dns_nameservers).resolve(
            name, record_type, lifetime=timeout_seconds, search=False, raise_on_no_answer=False
        )
    except NXDOMAIN:
        return NO_SUCH_NAME
    except DNSException as error:
        raise DnsError(timed_out=isinstance(error, Timeout)) from error
    return [_record_text(record) for record in response.rrset or ()]


def _record_text(record: Any) -> str:
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
        resolver.nameservers = [
            Do53Nameserver(address, port) for address, port in parse_dns_server_endpoints(nameservers)
        ]
    resolver.timeout = _ATTEMPT_SECONDS
    return resolver

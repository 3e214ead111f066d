"""What DNS says of a custom domain at the moment, and what becomes of the domain by that."""

import random
from math import inf
from time import monotonic
from typing import Any, Final

from chalicelib.features.domains import rules
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.domains.models import Fault
from chalicelib.features.domains.rules import Seen, Sight
from chalicelib.kernel.outbound import dns
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unique_items import guard_key

_SECONDS: Final = 2.0
"""How long an answer is waited for."""
_CHAIN_SECONDS: Final = 4.0
"""How long all links of a chain together are waited for."""
_MOST_LINKS: Final = 8
_ADDRESSES: Final[tuple[dns.Question, ...]] = ("A", "AAAA")
_AT_ONCE: Final = 6
"""All that is asked, but for the links of a chain: these are asked for one after the other."""


def check(custom: CustomDomain, moment: str) -> dict[str, Any]:
    """Return the fields of a claimed domain that is looked at now."""
    verdict = rules.judged(custom, look_at(custom.domain or ""))
    taken = custom.status == "pending" and verdict.fault is None and _is_anothers(custom)
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    return rules.checked(custom, verdict, moment, taken=taken, jitter=jitter)


def _is_anothers(custom: CustomDomain) -> bool:
    guard = table.get(guard_key(CustomDomain.by_domain, custom))
    return guard is not None and guard["ref"] != custom.id


def look_at(domain: str) -> Sight:
    """Return what DNS holds of a domain. All is asked at once, and no answer is waited for longer than some seconds."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        proof = threads.submit(_ask, rules.challenge(domain), "TXT")
        chain = threads.submit(_chain, domain)
        ipv4, ipv6 = (threads.submit(_ask, domain, question) for question in _ADDRESSES)
        our_ipv4, our_ipv6 = (threads.submit(_ask, rules.target(), question) for question in _ADDRESSES)
    addresses, ours = _both(ipv4.result(), ipv6.result()), _both(our_ipv4.result(), our_ipv6.result())
    return Sight(proof.result(), chain.result(), addresses, ours)


def _both(one: Seen, other: Seen) -> Seen:
    return Seen((*one.values, *other.values), one.fault or other.fault)


def _ask(name: str, question: dns.Question, until: float = inf) -> Seen:
    try:
        return Seen(tuple(sorted(dns.query_dns(name, question, min(_SECONDS, until - monotonic())))))
    except dns.DnsError as error:
        return Seen(fault=_fault(error))


def _fault(error: dns.DnsError) -> Fault:
    return "DNS_TIMEOUT" if error.timed_out else "DNS_FAILURE"


def _chain(name: str) -> Seen:
    """Return the names that a name leads to by CNAME, up to the one that it should; whatever else lies behind it."""
    links: list[str] = []
    until = monotonic() + _CHAIN_SECONDS
    while len(links) < _MOST_LINKS and rules.target() not in links:
        seen = _ask(links[-1] if links else name, "CNAME", until)
        if not seen.values:
            return Seen(tuple(links), seen.fault)
        links += seen.values[:1]
    return Seen(tuple(links))

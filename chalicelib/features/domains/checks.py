"""Query the DNS of a custom domain, and decide what the answers change."""

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

_QUERY_TIMEOUT_SECONDS: Final = 2.0
_CHAIN_TIMEOUT_SECONDS: Final = 4.0
"""Time limit for all queries of a CNAME chain together."""
_MAX_CHAIN_LENGTH: Final = 8
_ADDRESS_TYPES: Final[tuple[dns.Question, ...]] = ("A", "AAAA")
_THREADS: Final = 6
"""One thread for each query. The queries of a CNAME chain share one, as they run one after the other."""


def check(custom: CustomDomain, moment: str) -> dict[str, Any]:
    """Query the DNS of a claimed domain and return the changed fields of the custom domain."""
    verdict = rules.judged(custom, look_at(custom.domain or ""))
    is_taken = custom.status == "pending" and verdict.fault is None and _is_verified_elsewhere(custom)
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    return rules.checked(custom, verdict, moment, taken=is_taken, jitter=jitter)


def _is_verified_elsewhere(custom: CustomDomain) -> bool:
    unique_item = table.get(guard_key(CustomDomain.by_domain, custom))
    return unique_item is not None and unique_item["ref"] != custom.id


def look_at(domain: str) -> Sight:
    """Query all DNS records of a domain that verification needs, in parallel and with timeouts."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_THREADS) as threads:
        proof = threads.submit(_query, rules.challenge(domain), "TXT")
        chain = threads.submit(_query_cname_chain, domain)
        ipv4, ipv6 = (threads.submit(_query, domain, record_type) for record_type in _ADDRESS_TYPES)
        target = rules.target()
        target_ipv4, target_ipv6 = (threads.submit(_query, target, record_type) for record_type in _ADDRESS_TYPES)
    addresses = _merge(ipv4.result(), ipv6.result())
    target_addresses = _merge(target_ipv4.result(), target_ipv6.result())
    return Sight(proof.result(), chain.result(), addresses, target_addresses)


def _merge(first: Seen, second: Seen) -> Seen:
    return Seen((*first.values, *second.values), first.fault or second.fault)


def _query(name: str, record_type: dns.Question, deadline: float = inf) -> Seen:
    timeout_seconds = min(_QUERY_TIMEOUT_SECONDS, deadline - monotonic())
    try:
        return Seen(tuple(sorted(dns.query_dns(name, record_type, timeout_seconds))))
    except dns.DnsError as error:
        return Seen(fault=_error_code(error))


def _error_code(error: dns.DnsError) -> Fault:
    return "DNS_TIMEOUT" if error.timed_out else "DNS_FAILURE"


def _query_cname_chain(name: str) -> Seen:
    """Return the names of the CNAME chain of a name, at most up to the name that custom domains point to."""
    chain: list[str] = []
    deadline = monotonic() + _CHAIN_TIMEOUT_SECONDS
    while len(chain) < _MAX_CHAIN_LENGTH and rules.target() not in chain:
        answer = _query(chain[-1] if chain else name, "CNAME", deadline)
        if not answer.values:
            return Seen(tuple(chain), answer.fault)
        chain += answer.values[:1]
    return Seen(tuple(chain))

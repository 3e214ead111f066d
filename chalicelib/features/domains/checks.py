"""What DNS says of a custom domain at the moment, and what becomes of the domain by that."""

import random
from concurrent.futures import ThreadPoolExecutor
from math import inf
from time import monotonic
from typing import Any, Final

from chalicelib.features.domains import rules
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.domains.models import Fault
from chalicelib.features.domains.rules import Seen, Sight
from chalicelib.kernel import lookup, table
from chalicelib.kernel.changes import guard_key

_SECONDS: Final = 2.0
"""How long an answer is waited for."""
_CHAIN_SECONDS: Final = 4.0
_MOST_LINKS: Final = 8


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
    with ThreadPoolExecutor(4) as threads:
        proof = threads.submit(_ask, rules.challenge(domain), "TXT")
        chain = threads.submit(_chain, domain)
        addresses = threads.submit(_addresses, domain)
        ours = threads.submit(_addresses, rules.target())
    return Sight(proof.result(), chain.result(), addresses.result(), ours.result())


def _ask(name: str, question: lookup.Question, until: float = inf) -> Seen:
    try:
        return Seen(tuple(sorted(lookup.ask(name, question, min(_SECONDS, until - monotonic())))))
    except lookup.Unanswered as error:
        return Seen(fault=_fault(error))


def _fault(error: lookup.Unanswered) -> Fault:
    return "DNS_TIMEOUT" if error.timed_out else "DNS_FAILURE"


def _addresses(name: str) -> Seen:
    with ThreadPoolExecutor(2) as threads:
        ipv4, ipv6 = threads.map(lambda question: _ask(name, question), ("A", "AAAA"))
    return Seen((*ipv4.values, *ipv6.values), ipv4.fault or ipv6.fault)


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

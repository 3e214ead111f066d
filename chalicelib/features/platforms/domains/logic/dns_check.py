"""Query the DNS of a custom domain, and decide what the answers change."""

import random
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import verification
from chalicelib.features.platforms.domains.logic.verification import DnsAnswer, DnsObservation
from chalicelib.features.platforms.domains.models import VerificationError
from chalicelib.kernel.core import threads
from chalicelib.kernel.outbound import dns
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unique_items import guard_key

_QUERY_TIMEOUT_SECONDS: Final = 2.0
_CHAIN_TIMEOUT_SECONDS: Final = 4.0
"""Time limit for all queries of a CNAME chain together."""
_MAX_CHAIN_LENGTH: Final = 8
_ADDRESS_TYPES: Final[tuple[dns.RecordType, ...]] = ("A", "AAAA")
_THREADS: Final = 6
"""One thread for each query. The queries of a CNAME chain share one, as they run one after the other."""


def query_dns_for_verification_changes(custom_domain: CustomDomain, timestamp: str) -> dict[str, Any]:
    """Query the DNS of a claimed domain and return the changed fields of the custom domain."""
    verdict = verification.evaluate(custom_domain, query_dns(custom_domain.domain or ""))
    is_taken = custom_domain.status == "pending" and verdict.error is None and _is_verified_elsewhere(custom_domain)
    jitter = random.uniform(-1, 1)  # noqa: S311 - jitter is no secret
    return verification.changed_fields_after_check(custom_domain, verdict, timestamp, is_taken=is_taken, jitter=jitter)


def _is_verified_elsewhere(custom_domain: CustomDomain) -> bool:
    unique_item = table.get(guard_key(CustomDomain.by_domain, custom_domain))
    return unique_item is not None and unique_item["ref"] != custom_domain.id


def query_dns(domain: str) -> DnsObservation:
    """Query all DNS records of a domain that verification needs, in parallel and with timeouts."""
    queries = [
        partial(_query_records, verification.ownership_record_name(domain), "TXT"),
        partial(_query_cname_chain, domain),
        *(
            partial(_query_records, name, record_type)
            for name in (domain, verification.cname_target_name())
            for record_type in _ADDRESS_TYPES
        ),
    ]
    answers = threads.call_in_threads(queries, max_threads=_THREADS, name="dns")
    proof, chain, ipv4, ipv6, target_ipv4, target_ipv6 = answers
    return DnsObservation(proof, chain, _merge_answers(ipv4, ipv6), _merge_answers(target_ipv4, target_ipv6))


def _merge_answers(first: DnsAnswer, second: DnsAnswer) -> DnsAnswer:
    return DnsAnswer((*first.values, *second.values), first.error or second.error)


def _query_records(name: str, record_type: dns.RecordType, deadline: float = inf) -> DnsAnswer:
    timeout_seconds = min(_QUERY_TIMEOUT_SECONDS, deadline - monotonic())
    try:
        return DnsAnswer(tuple(sorted(dns.query_dns(name, record_type, timeout_seconds))))
    except dns.DnsError as error:
        return DnsAnswer(error=_verification_error_code(error))


def _verification_error_code(error: dns.DnsError) -> VerificationError:
    return "DNS_TIMEOUT" if error.timed_out else "DNS_FAILURE"


def _query_cname_chain(name: str) -> DnsAnswer:
    """Return the names of the CNAME chain of a name, at most up to the name that custom domains point to."""
    chain: list[str] = []
    deadline = monotonic() + _CHAIN_TIMEOUT_SECONDS
    while len(chain) < _MAX_CHAIN_LENGTH and verification.cname_target_name() not in chain:
        answer = _query_records(chain[-1] if chain else name, "CNAME", deadline)
        if not answer.values:
            return DnsAnswer(tuple(chain), answer.error)
        chain += answer.values[:1]
    return DnsAnswer(tuple(chain))

"""Verification of custom domains: required DNS records, evaluation of answers, status changes, schedule. No I/O."""

from base64 import b32encode
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from chalicelib.features.platforms.domains.entities import LAPSE_AFTER_HOURS, MAX_PENDING_DAYS, CustomDomain
from chalicelib.features.platforms.domains.models import VerificationError
from chalicelib.features.platforms.models.domain_names import registrable_domain
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.outbound.ip_addresses import mask_private_address

MAX_OBSERVED_VALUES: Final = 10
"""Values of a DNS record that are shown as observed."""

MAX_OBSERVED_VALUE_CHARACTERS: Final = 300
"""Length of an observed value of a DNS record. The rest is omitted."""

_CHALLENGE_LABEL: Final = "_atrium-challenge"
_MIN_WAIT_SECONDS: Final = 60
_MAX_WAIT_SECONDS: Final = 3_600
_WAIT_TO_AGE_RATIO: Final = 1 / 6
"""Ratio of the wait before the next check to the time that a domain has been pending: short at first, then hourly."""

_DAY_SECONDS: Final = 86_400
_MAX_JITTER_RATIO: Final = 0.1

DnsRecord = dict[str, Any]


@dataclass(frozen=True)
class DnsAnswer:
    """The values that a DNS query returned, or why it failed."""

    values: tuple[str, ...] = ()
    error: VerificationError | None = None


@dataclass(frozen=True)
class DnsObservation:
    """The DNS answers for a domain: ownership record, CNAME chain and addresses.

    `target_addresses` are the addresses of the name that custom domains point to.
    """

    ownership: DnsAnswer
    cname_chain: DnsAnswer
    addresses: DnsAnswer
    target_addresses: DnsAnswer


@dataclass(frozen=True)
class Verdict:
    """The result of a check. `is_owned` tells whether the ownership record exists, None if DNS did not answer."""

    records: list[DnsRecord]
    error: VerificationError | None
    is_owned: bool | None


UNCLAIMED_FIELDS: Final[dict[str, Any]] = {
    "domain": None,
    "status": "none",
    "proof": None,
    "records": [],
    "pending_since": None,
    "verified_at": None,
    "missing_since": None,
    "last_checked_at": None,
    "last_error": None,
    "next_check_at": None,
}


def claim_fields(platform_id: str, domain: str, timestamp: str) -> dict[str, Any]:
    """Return the fields of a platform's claim of a domain. Repeating a claim yields the same proof."""
    tag = symmetric.authentication_tag_bytes(f"{platform_id} {domain}".encode(), "custom domain")
    proof = ascii_lower(b32encode(tag).decode())  # 32 characters.
    return {
        **UNCLAIMED_FIELDS,
        "domain": domain,
        "status": "pending",
        "proof": proof,
        "records": build_unobserved_dns_records(domain, proof),
        "pending_since": timestamp,
        "next_check_at": after(timestamp, seconds=_MIN_WAIT_SECONDS),
    }


def ownership_record_name(domain: str) -> str:
    """Return the name of the TXT record that proves the ownership of a domain."""
    return f"{_CHALLENGE_LABEL}.{domain}"


def cname_target_name() -> str:
    """Return the name that custom domains point to."""
    return f"cname.{section(PlatformSettings).platforms_domain}"


def build_unobserved_dns_records(domain: str, proof: str) -> list[DnsRecord]:
    """Return the DNS records that a domain needs, none of them observed yet."""
    apex = registrable_domain(domain) or domain

    def build_record(purpose: str, record_type: str, name: str, expected: str) -> DnsRecord:
        return {
            "purpose": purpose,
            "type": record_type,
            "name": name,
            "relative_name": name.removesuffix(apex).removesuffix(".") or "@",
            "expected": expected,
            "observed": [],
            "ok": False,
        }

    ownership = build_record("ownership", "TXT", ownership_record_name(domain), f"atrium-verify={proof}")
    routes = _apex_record_types_and_values() if domain == apex else [("CNAME", cname_target_name())]
    return [ownership, *(build_record("routing", record_type, domain, expected) for record_type, expected in routes)]


def _apex_record_types_and_values() -> list[tuple[str, str]]:
    """Return the types and values of the records that route an apex domain to the service."""
    routes = [("A" if _ip_version(address) == 4 else "AAAA", address) for address in _service_ip_addresses()]  # noqa: PLR2004
    return routes or [("ALIAS", cname_target_name())]


def _service_ip_addresses() -> list[str]:
    text = section(PlatformSettings).platforms_addresses
    return text.split(",") if text else []


def _ip_version(address: str) -> int:
    return ip_address(address).version


def evaluate(custom_domain: CustomDomain, observation: DnsObservation) -> Verdict:
    """Evaluate the DNS answers for a claimed domain. Records that DNS did not answer for keep their last state."""
    previous = {(record["type"], record["expected"]): record for record in custom_domain.records}
    is_proven, ownership_error = _ownership_and_error(custom_domain, observation)
    is_routed, routing_error = _routing_and_error(custom_domain, observation)
    records = build_unobserved_dns_records(custom_domain.domain or "", custom_domain.proof or "")
    for record in records:
        is_ok = is_proven if record["purpose"] == "ownership" else is_routed
        if is_ok is None:
            last_record = previous.get((record["type"], record["expected"]), record)
            record |= {"observed": last_record["observed"], "ok": last_record["ok"]}
        else:
            record |= {
                "observed": [
                    *_shortened_and_masked_observed_values(record["type"], observation, only_own_ip_version=is_ok)
                ],
                "ok": is_ok,
            }
    return Verdict(records, ownership_error or routing_error, is_proven)


def _ownership_and_error(
    custom_domain: CustomDomain, observation: DnsObservation
) -> tuple[bool | None, VerificationError | None]:
    """Return whether the ownership record exists, None if DNS did not answer, and the error."""
    if observation.ownership.error:
        return None, observation.ownership.error
    if f"atrium-verify={custom_domain.proof}" in [value.strip() for value in observation.ownership.values]:
        return True, None
    return False, "TXT_MISMATCH" if observation.ownership.values else "TXT_NOT_FOUND"


def _routing_and_error(
    custom_domain: CustomDomain, observation: DnsObservation
) -> tuple[bool | None, VerificationError | None]:
    """Return whether DNS directs visitors to the service, None if DNS did not answer, and the error.

    A subdomain may use a CNAME. Any domain may have addresses, if all of them belong to the service. An apex can't have
    a CNAME (RFC 1034, section 3.6.2). If it has one nevertheless, that works with some resolvers only.
    """
    is_apex = registrable_domain(custom_domain.domain or "") == custom_domain.domain
    if not is_apex and cname_target_name() in observation.cname_chain.values:
        return True, None
    service_addresses = {*_service_ip_addresses(), *observation.target_addresses.values}
    addresses = observation.addresses
    is_routed = bool(addresses.values) and not addresses.error and {*addresses.values} <= service_addresses
    if is_routed and not (is_apex and (observation.cname_chain.values or observation.cname_chain.error)):
        return True, None
    dns_error = observation.cname_chain.error
    if is_apex and not observation.cname_chain.values:
        dns_error = dns_error or addresses.error or (observation.target_addresses.error if addresses.values else None)
    if dns_error:
        return None, dns_error
    return False, "APEX_NEEDS_A_OR_ALIAS" if is_apex else "CNAME_MISMATCH"


def _shortened_and_masked_observed_values(
    record_type: str, observation: DnsObservation, *, only_own_ip_version: bool
) -> Iterator[str]:
    """Yield the values observed for a record, limited in number and length.

    If the record is not ok, addresses of both IP versions are included: a foreign address of either version misroutes.
    """
    version = {"A": 4, "AAAA": 6}.get(record_type) if only_own_ip_version else None
    addresses = [each for each in observation.addresses.values if version in (None, _ip_version(each))]
    service_addresses = _service_ip_addresses()
    displayed = [each if each in service_addresses else mask_private_address(each) for each in addresses]
    values = observation.ownership.values if record_type == "TXT" else observation.cname_chain.values or displayed
    for value in [*dict.fromkeys(values)][:MAX_OBSERVED_VALUES]:
        yield value if len(value) <= MAX_OBSERVED_VALUE_CHARACTERS else f"{value[: MAX_OBSERVED_VALUE_CHARACTERS - 1]}…"


def with_ended_verification_restarted(custom_domain: CustomDomain, timestamp: str) -> CustomDomain:
    """Return a domain as a request to verify it finds it. A failed, lapsed or overdue domain becomes pending again."""
    if custom_domain.status in ("failed", "lapsed") or _is_pending_too_long(custom_domain, timestamp):
        return custom_domain.replace(status="pending", pending_since=timestamp, missing_since=None)
    return custom_domain


def changed_fields_after_check(
    custom_domain: CustomDomain, verdict: Verdict, timestamp: str, *, is_taken: bool, jitter: float
) -> dict[str, Any]:
    """Return the changed fields of a domain after a check.

    `is_taken` tells whether another platform has verified the domain. `jitter` is between -1 and 1.
    """
    if custom_domain.status == "pending":
        status_fields = _changed_fields_of_pending(
            custom_domain, timestamp, has_passed=verdict.error is None and not is_taken
        )
    else:
        status_fields = _changed_fields_of_verified(custom_domain, timestamp, verdict.is_owned)
    updated = custom_domain.replace(**status_fields)
    return {
        "status": updated.status,
        "pending_since": updated.pending_since,
        "verified_at": updated.verified_at,
        "missing_since": updated.missing_since,
        "records": verdict.records,
        "last_checked_at": timestamp,
        "last_error": "DOMAIN_TAKEN" if is_taken else verdict.error,
        "next_check_at": _next_check_at(updated, verdict, timestamp, 1 + _MAX_JITTER_RATIO * jitter),
    }


def _changed_fields_of_pending(custom_domain: CustomDomain, timestamp: str, *, has_passed: bool) -> dict[str, Any]:
    if has_passed:
        return {"status": "verified", "verified_at": timestamp, "pending_since": None}
    return {"status": "failed", "pending_since": None} if _is_pending_too_long(custom_domain, timestamp) else {}


def _changed_fields_of_verified(custom_domain: CustomDomain, timestamp: str, is_owned: bool | None) -> dict[str, Any]:  # noqa: FBT001 - three values
    """Return the changed fields of a verified domain. It lapses only if the ownership record is missing too long."""
    if is_owned is None:
        return {}
    if is_owned:
        return {"missing_since": None}
    missing_since = custom_domain.missing_since or timestamp
    if after(missing_since, hours=LAPSE_AFTER_HOURS) <= timestamp:
        return {"status": "lapsed", "verified_at": None, "missing_since": None}
    return {"missing_since": missing_since}


def _is_pending_too_long(custom_domain: CustomDomain, timestamp: str) -> bool:
    return (
        custom_domain.status == "pending"
        and after(custom_domain.pending_since or timestamp, days=MAX_PENDING_DAYS) <= timestamp
    )


def _next_check_at(custom_domain: CustomDomain, verdict: Verdict, timestamp: str, jitter_factor: float) -> str | None:
    """Return the time of the next check, which is never later than the time at which the domain may fail or lapse."""
    if custom_domain.status == "pending":
        pending_since = custom_domain.pending_since or timestamp
        age_seconds = (timestamp_ms(timestamp) - timestamp_ms(pending_since)) / 1000
        wait_seconds = min(max(age_seconds * _WAIT_TO_AGE_RATIO, _MIN_WAIT_SECONDS), _MAX_WAIT_SECONDS)
        fails_at = after(pending_since, days=MAX_PENDING_DAYS)
        return min(after(timestamp, seconds=wait_seconds * jitter_factor), fails_at)
    if custom_domain.status != "verified":
        return None
    wait_seconds = _MAX_WAIT_SECONDS if verdict.is_owned is None else _DAY_SECONDS
    next_check_at = after(timestamp, seconds=wait_seconds * jitter_factor)
    lapses_at = after(custom_domain.missing_since, hours=LAPSE_AFTER_HOURS) if custom_domain.missing_since else ""
    return min(next_check_at, lapses_at) if lapses_at > timestamp else next_check_at

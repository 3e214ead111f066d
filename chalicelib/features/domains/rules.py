"""What a custom domain's DNS has to hold, what is to be made of what it holds, and when it is looked at: no effects."""

from base64 import b32encode
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.domains.models import Fault
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after, timestamp_ms
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import signatures
from chalicelib.kernel.outbound.domain_names import registrable_domain
from chalicelib.kernel.outbound.ip_addresses import public_only

PENDING_DAYS: Final = 7
LAPSING_HOURS: Final = 72
MOST_OBSERVED: Final = 10
MOST_CHARACTERS: Final = 300

_CHALLENGE: Final = "_atrium-challenge"
_FIRST_CHECK_SECONDS: Final = 60
_LONGEST_WAIT_SECONDS: Final = 3_600
_SHARE_OF_AGE: Final = 1 / 6
"""How long a pending domain is left alone, as a share of how long it is pending: often at first, then hourly."""

_DAY_SECONDS: Final = 86_400
_SCATTER: Final = 0.1

Record = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """What a question was answered with, or why it was not."""

    values: tuple[str, ...] = ()
    fault: Fault | None = None


@dataclass(frozen=True)
class Sight:
    """What DNS holds: the proof, the names that the domain leads to one after the other, and its addresses.

    `ours`: the addresses of the name that custom domains should lead to.
    """

    proof: Seen
    chain: Seen
    addresses: Seen
    ours: Seen


@dataclass(frozen=True)
class Verdict:
    """What came of a look at DNS. `proven`: whether the proof is there, None if that can't be told."""

    records: list[Record]
    fault: Fault | None
    proven: bool | None


NOTHING_CLAIMED: Final[dict[str, Any]] = {
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


def claimed(platform_id: str, domain: str, moment: str) -> dict[str, Any]:
    """Return the fields of a platform's claim of a domain. A claim made again has the proof that it had before."""
    tag = signatures.authenticate(f"{platform_id} {domain}".encode(), "custom domain")
    proof = ascii_lower(b32encode(tag).decode())  # 32 characters.
    return {
        **NOTHING_CLAIMED,
        "domain": domain,
        "status": "pending",
        "proof": proof,
        "records": wanted(domain, proof),
        "pending_since": moment,
        "next_check_at": after(moment, seconds=_FIRST_CHECK_SECONDS),
    }


def challenge(domain: str) -> str:
    """Return the name that holds the proof of who owns a domain."""
    return f"{_CHALLENGE}.{domain}"


def target() -> str:
    """Return the name that custom domains should lead to."""
    return f"cname.{settings().platforms_domain}"


def wanted(domain: str, proof: str) -> list[Record]:
    """Return the records that a domain's DNS has to hold, none of which has been seen yet."""
    apex = registrable_domain(domain) or domain

    def record(purpose: str, kind: str, name: str, expected: str) -> Record:
        relative = name.removesuffix(apex).removesuffix(".") or "@"
        return {
            "purpose": purpose,
            "type": kind,
            "name": name,
            "relative_name": relative,
            "expected": expected,
            "observed": [],
            "ok": False,
        }

    ownership = record("ownership", "TXT", challenge(domain), f"atrium-verify={proof}")
    routes = _apex_routes() if domain == apex else [("CNAME", target())]
    return [ownership, *(record("routing", kind, domain, expected) for kind, expected in routes)]


def _apex_routes() -> list[tuple[str, str]]:
    known = [("A" if ip_address(address).version == 4 else "AAAA", address) for address in _known_addresses()]  # noqa: PLR2004
    return known or [("ALIAS", target())]


def _known_addresses() -> list[str]:
    text = settings().platforms_addresses
    return text.split(",") if text else []


def judged(custom: CustomDomain, sight: Sight) -> Verdict:
    """Return what came of a look at a domain that is claimed. What DNS didn't answer is taken to be as it was."""
    former = {(record["type"], record["expected"]): record for record in custom.records}
    proven, ownership = _ownership(custom, sight)
    routed, routing = _routing(custom, sight)
    records = wanted(custom.domain or "", custom.proof or "")
    for record in records:
        answered = proven if record["purpose"] == "ownership" else routed
        if answered is None:
            known = former.get((record["type"], record["expected"]), record)
            record |= {"observed": known["observed"], "ok": known["ok"]}
        else:
            record |= {"observed": [*_observed(record["type"], sight, ok=answered)], "ok": answered}
    return Verdict(records, ownership or routing, proven)


def _ownership(custom: CustomDomain, sight: Sight) -> tuple[bool | None, Fault | None]:
    if sight.proof.fault:
        return None, sight.proof.fault
    if f"atrium-verify={custom.proof}" in [value.strip() for value in sight.proof.values]:
        return True, None
    return False, "TXT_MISMATCH" if sight.proof.values else "TXT_NOT_FOUND"


def _routing(custom: CustomDomain, sight: Sight) -> tuple[bool | None, Fault | None]:
    """Return whether visitors are led here: below an apex by a CNAME; else, and there too, by just our addresses.

    An apex can't have a CNAME (RFC 1034, section 3.6.2): one that is there all the same works with some resolvers only.
    """
    is_apex = registrable_domain(custom.domain or "") == custom.domain
    if not is_apex and target() in sight.chain.values:
        return True, None
    here = {*_known_addresses(), *sight.ours.values}
    led = bool(sight.addresses.values) and not sight.addresses.fault and {*sight.addresses.values} <= here
    if led and not (is_apex and (sight.chain.values or sight.chain.fault)):
        return True, None
    unanswered = sight.chain.fault
    if is_apex and not sight.chain.values:
        unanswered = unanswered or sight.addresses.fault or (sight.ours.fault if sight.addresses.values else None)
    if unanswered:
        return None, unanswered
    return False, "APEX_NEEDS_A_OR_ALIAS" if is_apex else "CNAME_MISMATCH"


def _observed(kind: str, sight: Sight, *, ok: bool) -> Iterator[str]:
    """Yield what was seen where a record should be, so much of it as somebody reads.

    Of what is wrong that is addresses of whatever version: one that is not ours is in the way beside one that is.
    """
    version = {"A": 4, "AAAA": 6}.get(kind) if ok else None
    seen = [a for a in sight.addresses.values if version in (None, ip_address(a).version)]
    ours = _known_addresses()
    addresses = [a if a in ours else public_only(a) for a in seen]
    values = sight.proof.values if kind == "TXT" else sight.chain.values or addresses
    for value in [*dict.fromkeys(values)][:MOST_OBSERVED]:
        yield value if len(value) <= MOST_CHARACTERS else f"{value[: MOST_CHARACTERS - 1]}…"


def restarted(custom: CustomDomain, moment: str) -> CustomDomain:
    """Return a domain that somebody asks to be verified: one that failed or lapsed is pending again from now on."""
    if custom.status in ("failed", "lapsed") or _is_overdue(custom, moment):
        return custom.replace(status="pending", pending_since=moment, missing_since=None)
    return custom


def checked(custom: CustomDomain, verdict: Verdict, moment: str, *, taken: bool, jitter: float) -> dict[str, Any]:
    """Return the fields of a domain that was looked at. `taken`: it is verified by another platform; `jitter`: ±1."""
    if custom.status == "pending":
        status = _of_pending(custom, moment, good=verdict.fault is None and not taken)
    else:
        status = _of_verified(custom, moment, verdict.proven)
    decided = custom.replace(**status)
    return {
        "status": decided.status,
        "pending_since": decided.pending_since,
        "verified_at": decided.verified_at,
        "missing_since": decided.missing_since,
        "records": verdict.records,
        "last_checked_at": moment,
        "last_error": "DOMAIN_TAKEN" if taken else verdict.fault,
        "next_check_at": _next_check(decided, verdict, moment, 1 + _SCATTER * jitter),
    }


def _of_pending(custom: CustomDomain, moment: str, *, good: bool) -> dict[str, Any]:
    if good:
        return {"status": "verified", "verified_at": moment, "pending_since": None}
    return {"status": "failed", "pending_since": None} if _is_overdue(custom, moment) else {}


def _of_verified(custom: CustomDomain, moment: str, proven: bool | None) -> dict[str, Any]:  # noqa: FBT001 - three values
    """Return what becomes of a verified domain. It lapses without the proof of whose it is, and for nothing else."""
    if proven is None:
        return {}
    if proven:
        return {"missing_since": None}
    since = custom.missing_since or moment
    if after(since, hours=LAPSING_HOURS) <= moment:
        return {"status": "lapsed", "verified_at": None, "missing_since": None}
    return {"missing_since": since}


def _is_overdue(custom: CustomDomain, moment: str) -> bool:
    return custom.status == "pending" and after(custom.pending_since or moment, days=PENDING_DAYS) <= moment


def _next_check(custom: CustomDomain, verdict: Verdict, moment: str, scatter: float) -> str | None:
    """Return when a domain is looked at again: never later than when it may fail or lapse."""
    if custom.status == "pending":
        since = custom.pending_since or moment
        age = (timestamp_ms(moment) - timestamp_ms(since)) / 1000
        wait = min(max(age * _SHARE_OF_AGE, _FIRST_CHECK_SECONDS), _LONGEST_WAIT_SECONDS)
        return min(after(moment, seconds=wait * scatter), after(since, days=PENDING_DAYS))
    if custom.status != "verified":
        return None
    wait = _LONGEST_WAIT_SECONDS if verdict.proven is None else _DAY_SECONDS
    at = after(moment, seconds=wait * scatter)
    lapses_at = after(custom.missing_since, hours=LAPSING_HOURS) if custom.missing_since else ""
    return min(at, lapses_at) if lapses_at > moment else at

"""Custom domains: what is made of what DNS holds, whatever it holds, and of time."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import verification
from chalicelib.features.platforms.domains.logic.verification import DnsAnswer, DnsObservation, Verdict
from chalicelib.features.platforms.domains.models import CustomDomainOut
from chalicelib.kernel.core.clock import after, timestamp
from tests.harness.stored_records import beginning

PLATFORM = "01939d3c-0000-7000-8000-00000000000a"
MOMENTS = st.integers(1_700_000_000_000, 1_900_000_000_000).map(timestamp)
DOMAINS = st.sampled_from(["shop.example.com", "example.com", "a.b.example.co.uk", "example.co.uk"])
FAILURES = st.sampled_from([DnsAnswer(error="DNS_TIMEOUT"), DnsAnswer(error="DNS_FAILURE")])
JITTER = st.floats(-1, 1)
DAYS = st.floats(0, 30)

GOOD, FAULTY = Verdict([], None, is_owned=True), Verdict([], "CNAME_MISMATCH", is_owned=True)
MISSING, UNKNOWN = Verdict([], "TXT_NOT_FOUND", is_owned=False), Verdict([], "DNS_TIMEOUT", is_owned=None)
VERDICTS = st.sampled_from([GOOD, FAULTY, MISSING, UNKNOWN])


def pending(domain: str, moment: str, **fields: Any) -> CustomDomain:
    """Return a domain that was claimed at a moment."""
    named: dict[str, Any] = {"platform_slug": "engines", "platform_name": "Engines", "organization_id": PLATFORM}
    claim = verification.claim_fields(PLATFORM, domain, moment) | fields
    return CustomDomain(**beginning(moment) | {"id": PLATFORM}, platform_id=PLATFORM, **named, **claim)


def verified(moment: str, **fields: Any) -> CustomDomain:
    return pending("shop.example.com", moment, status="verified", verified_at=moment, pending_since=None, **fields)


def seen(*values: str) -> st.SearchStrategy[DnsAnswer]:
    """Return answers of all kinds, these values and others in them."""
    others = st.text("ab.-=", max_size=400)
    return FAILURES | st.lists(st.sampled_from(values) | others, max_size=20).map(lambda held: DnsAnswer(tuple(held)))


def addresses() -> st.SearchStrategy[DnsAnswer]:
    known = st.lists(st.sampled_from(["192.0.2.7", "192.0.2.8", "2001:db8::7"]), max_size=3, unique=True)
    return FAILURES | known.map(lambda held: DnsAnswer(tuple(held)))


@st.composite
def sights(draw: st.DrawFn) -> tuple[CustomDomain, DnsObservation]:
    """A domain, and what DNS may say of it."""
    custom = pending(draw(DOMAINS), draw(MOMENTS))
    proof = draw(seen(f"atrium-verify={custom.proof}", "atrium-verify=other"))
    return custom, DnsObservation(proof, draw(seen(verification.cname_target())), draw(addresses()), draw(addresses()))


@given(st.uuids(), st.uuids(), DOMAINS, DOMAINS, MOMENTS, MOMENTS)
@settings(max_examples=30)
def test_a_proof_is_that_of_one_platform_and_one_domain(
    one: object, other: object, domain: str, another: str, now: str, later: str
) -> None:
    claims = [(str(platform), name) for platform in (one, other) for name in (domain, another)]
    proofs = {claim: verification.claim_fields(*claim, now)["proof"] for claim in claims}
    assert len(set(proofs.values())) == len(set(claims))
    assert all(len(proof) == 32 and proof.isalnum() for proof in proofs.values())
    assert all(verification.claim_fields(*claim, later)["proof"] == proof for claim, proof in proofs.items())


@given(sights())
@settings(max_examples=300)
def test_nothing_is_wrong_if_and_only_if_every_record_is_there(looked: tuple[CustomDomain, DnsObservation]) -> None:
    custom, sight = looked
    verdict = verification.evaluate(custom, sight)
    assert (verdict.error is None) == all(record["ok"] for record in verdict.records)
    assert [r["expected"] for r in verdict.records] == [r["expected"] for r in custom.records]
    assert (verdict.is_owned is None) == (sight.ownership.error is not None)
    assert (verdict.is_owned is True) == (f"atrium-verify={custom.proof}" in sight.ownership.values)
    for record in verdict.records:
        assert len(record["observed"]) <= 10
        assert all(len(value) <= 300 for value in record["observed"])


@given(sights())
@settings(max_examples=100)
def test_what_dns_does_not_answer_is_taken_to_be_as_it_was(looked: tuple[CustomDomain, DnsObservation]) -> None:
    custom, sight = looked
    before = verification.evaluate(custom, sight)
    silent = DnsObservation(*[DnsAnswer(error="DNS_TIMEOUT")] * 4)
    assert verification.evaluate(custom.replace(records=before.records), silent) == Verdict(
        before.records, "DNS_TIMEOUT", None
    )


@given(domain=DOMAINS, moment=MOMENTS, days=DAYS, verdict=VERDICTS, taken=st.booleans(), jitter=JITTER)
def test_a_pending_domain_is_verified_by_dns_and_fails_by_time(
    *, domain: str, moment: str, days: float, verdict: Verdict, taken: bool, jitter: float
) -> None:
    custom, at = pending(domain, moment), after(moment, days=days)
    fields = verification.fields_after_check(custom, verdict, at, is_taken=taken, jitter=jitter)
    good = verdict is GOOD and not taken
    assert fields["status"] == ("verified" if good else "failed" if days >= 7 else "pending")
    assert (fields["verified_at"] == at) == good
    assert fields["last_error"] == ("DOMAIN_TAKEN" if taken else verdict.error)


@given(MOMENTS, st.lists(st.tuples(st.floats(0.01, 5), VERDICTS), max_size=12), JITTER)
def test_a_verified_domain_lapses_only_when_its_proof_was_missed_for_three_days(
    moment: str, checks: list[tuple[float, Verdict]], jitter: float
) -> None:
    custom, missing_since = verified(moment), None
    for days, verdict in checks:
        moment = after(moment, days=days)
        if verdict.is_owned is not None:
            missing_since = None if verdict.is_owned else missing_since or moment
        custom = custom.replace(
            **verification.fields_after_check(custom, verdict, moment, is_taken=False, jitter=jitter)
        )
        missed = verdict is MISSING and missing_since is not None and after(missing_since, hours=72) <= moment
        assert custom.status == ("lapsed" if missed else "verified")
        if missed:
            break


@given(domain=DOMAINS, moment=MOMENTS, days=DAYS, verdict=VERDICTS, missing=st.booleans(), jitter=JITTER)
def test_it_is_looked_at_again_while_it_is_pending_or_verified_and_never_later_than_it_may_end(
    *, domain: str, moment: str, days: float, verdict: Verdict, missing: bool, jitter: float
) -> None:
    for custom, ends_at in [
        (pending(domain, moment), after(moment, days=7)),
        (verified(moment, missing_since=moment if missing else None), after(moment, hours=72) if missing else "~"),
    ]:
        at = after(moment, days=days)
        fields = verification.fields_after_check(custom, verdict, at, is_taken=False, jitter=jitter)
        if fields["status"] in ("failed", "lapsed"):
            assert fields["next_check_at"] is None
        else:
            longest = 3_600 if fields["status"] == "pending" else 86_400
            assert at < fields["next_check_at"] <= after(at, seconds=longest * 1.1 + 0.001)
            if fields["status"] == custom.status and fields["missing_since"] == custom.missing_since:
                assert fields["next_check_at"] <= max(ends_at, after(at, hours=1.2))


@given(MOMENTS, JITTER)
@settings(max_examples=20)
def test_a_pending_domain_is_looked_at_often_at_first_and_then_hourly(moment: str, jitter: float) -> None:
    custom, checks = pending("shop.example.com", moment), []
    while custom.next_check_at:
        checks.append(custom.next_check_at)
        custom = custom.replace(
            **verification.fields_after_check(custom, MISSING, custom.next_check_at, is_taken=False, jitter=jitter)
        )
    assert custom.status == "failed"
    assert checks[-1] == after(moment, days=7)
    assert checks[0] == after(moment, seconds=60)
    assert 4 <= sum(check <= after(moment, seconds=400) for check in checks) <= 8
    assert 150 < len(checks) < 250


@given(DOMAINS, MOMENTS, DAYS, st.sampled_from(["pending", "failed", "lapsed", "verified"]))
def test_what_failed_or_lapsed_is_pending_again_for_its_whole_time_when_somebody_asks(
    domain: str, moment: str, days: float, status: str
) -> None:
    at = after(moment, days=days)
    custom = pending(domain, moment, status=status)
    restarted = verification.reset_verification(custom, at)
    if status in ("failed", "lapsed") or (status == "pending" and days >= 7):
        assert (restarted.status, restarted.pending_since) == ("pending", at)
    else:
        assert restarted is custom


@given(DOMAINS, MOMENTS)
@settings(max_examples=10)
def test_what_a_domain_has_to_hold_is_shown_with_names_as_providers_want_them(domain: str, moment: str) -> None:
    custom = pending(domain, moment)
    shown = CustomDomainOut.of(custom)
    registered = "example.co.uk" if domain.endswith("uk") else "example.com"
    for record in shown.records:
        whole = registered if record.relative_name == "@" else f"{record.relative_name}.{registered}"
        assert record.name == whole
        assert (record.observed, record.ok) == ([], False)
    assert [record.purpose for record in shown.records] == ["ownership", "routing"]
    assert shown.records[0].name == f"_atrium-challenge.{domain}"
    assert shown.records[1].type == ("ALIAS" if domain == registered else "CNAME")

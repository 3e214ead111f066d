"""The status of a custom domain follows from its DNS records and from time."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import verification
from chalicelib.features.platforms.domains.logic.verification import DnsAnswer, DnsObservation, Verdict
from chalicelib.features.platforms.domains.models import CustomDomainOut
from chalicelib.kernel.core.clock import after, timestamp
from tests.harness.stored_records import new_id_and_time_fields

PLATFORM = "01939d3c-0000-7000-8000-00000000000a"
TIMESTAMPS = st.integers(1_700_000_000_000, 1_900_000_000_000).map(timestamp)
DOMAINS = st.sampled_from(["shop.example.com", "example.com", "a.b.example.co.uk", "example.co.uk"])
FAILURES = st.sampled_from([DnsAnswer(error="DNS_TIMEOUT"), DnsAnswer(error="DNS_FAILURE")])
JITTER = st.floats(-1, 1)
DAYS = st.floats(0, 30)

GOOD, FAULTY = Verdict([], None, is_owned=True), Verdict([], "CNAME_MISMATCH", is_owned=True)
MISSING, UNKNOWN = Verdict([], "TXT_NOT_FOUND", is_owned=False), Verdict([], "DNS_TIMEOUT", is_owned=None)
VERDICTS = st.sampled_from([GOOD, FAULTY, MISSING, UNKNOWN])


def pending_domain(domain: str, claimed_at: str, **fields: Any) -> CustomDomain:
    ids = {"id": PLATFORM, "platform_id": PLATFORM, "organization_id": PLATFORM}
    platform_fields: dict[str, Any] = {"platform_slug": "engines", "platform_name": "Engines", **ids}
    claim = verification.claim_fields(PLATFORM, domain, claimed_at) | fields
    return CustomDomain(**new_id_and_time_fields(claimed_at) | platform_fields, **claim)


def verified_domain(claimed_at: str, **fields: Any) -> CustomDomain:
    verified = {"status": "verified", "verified_at": claimed_at, "pending_since": None}
    return pending_domain("shop.example.com", claimed_at, **verified, **fields)


def fields_after_check(custom_domain, verdict, checked_at, jitter, *, is_taken=False):
    return verification.changed_fields_after_check(custom_domain, verdict, checked_at, is_taken=is_taken, jitter=jitter)


def answers(values):
    return FAILURES | values.map(lambda values: DnsAnswer(tuple(values)))


def answers_with(*values: str) -> st.SearchStrategy[DnsAnswer]:
    """Return DNS answers of all kinds, with and without these values."""
    return answers(st.lists(st.sampled_from(values) | st.text("ab.-=", max_size=400), max_size=20))


addresses = answers(st.lists(st.sampled_from(["192.0.2.7", "192.0.2.8", "2001:db8::7"]), max_size=3, unique=True))


@st.composite
def observations(draw: st.DrawFn) -> tuple[CustomDomain, DnsObservation]:
    custom_domain = pending_domain(draw(DOMAINS), draw(TIMESTAMPS))
    proof = draw(answers_with(f"atrium-verify={custom_domain.proof}", "atrium-verify=other"))
    target = draw(answers_with(verification.cname_target_name()))
    return custom_domain, DnsObservation(proof, target, draw(addresses), draw(addresses))


@given(st.uuids(), st.uuids(), DOMAINS, DOMAINS, TIMESTAMPS, TIMESTAMPS)
@settings(max_examples=30)
def test_a_proof_is_specific_to_a_platform_and_a_domain(first, second, domain, another, now, later):
    claims = [(str(platform), name) for platform in (first, second) for name in (domain, another)]
    proofs = {claim: verification.claim_fields(*claim, now)["proof"] for claim in claims}
    assert len(set(proofs.values())) == len(set(claims))
    assert all(len(proof) == 32 and proof.isalnum() for proof in proofs.values())
    assert all(verification.claim_fields(*claim, later)["proof"] == proof for claim, proof in proofs.items())


@given(observations())
@settings(max_examples=150)
def test_a_verdict_has_no_error_exactly_if_all_records_are_correct(observed):
    custom_domain, observation = observed
    verdict = verification.evaluate(custom_domain, observation)
    assert (verdict.error is None) == all(record["ok"] for record in verdict.records)
    assert [r["expected"] for r in verdict.records] == [r["expected"] for r in custom_domain.records]
    assert (verdict.is_owned is None) == (observation.ownership.error is not None)
    assert (verdict.is_owned is True) == (f"atrium-verify={custom_domain.proof}" in observation.ownership.values)
    for record in verdict.records:
        assert len(record["observed"]) <= 10
        assert all(len(value) <= 300 for value in record["observed"])
    unanswered = DnsObservation(*[DnsAnswer(error="DNS_TIMEOUT")] * 4)
    later_verdict = verification.evaluate(custom_domain.replace(records=verdict.records), unanswered)
    assert later_verdict == Verdict(verdict.records, "DNS_TIMEOUT", None), "the records are unchanged"


@given(domain=DOMAINS, claimed_at=TIMESTAMPS, days=DAYS, verdict=VERDICTS, is_taken=st.booleans(), jitter=JITTER)
def test_a_pending_domain_is_verified_by_dns_and_fails_after_seven_days(
    *, domain, claimed_at, days, verdict, is_taken, jitter
):
    custom_domain, checked_at = pending_domain(domain, claimed_at), after(claimed_at, days=days)
    fields = fields_after_check(custom_domain, verdict, checked_at, jitter, is_taken=is_taken)
    is_valid = verdict is GOOD and not is_taken
    assert fields["status"] == ("verified" if is_valid else "failed" if days >= 7 else "pending")
    assert (fields["verified_at"] == checked_at) == is_valid
    assert fields["last_error"] == ("DOMAIN_TAKEN" if is_taken else verdict.error)
    reset = verification.with_ended_verification_restarted(custom_domain, checked_at)
    assert reset is custom_domain if days < 7 else (reset.status, reset.pending_since) == ("pending", checked_at)
    for status in ("failed", "lapsed"):
        reset = verification.with_ended_verification_restarted(custom_domain.replace(status=status), checked_at)
        assert (reset.status, reset.pending_since) == ("pending", checked_at)


@given(TIMESTAMPS, st.lists(st.tuples(st.floats(0.01, 5), VERDICTS), max_size=12), JITTER)
def test_a_verified_domain_lapses_after_three_days_without_its_proof(claimed_at, checks, jitter):
    custom_domain, missing_since = verified_domain(claimed_at), None
    for days, verdict in checks:
        claimed_at = after(claimed_at, days=days)
        if verdict.is_owned is not None:
            missing_since = None if verdict.is_owned else missing_since or claimed_at
        custom_domain = custom_domain.replace(**fields_after_check(custom_domain, verdict, claimed_at, jitter))
        is_lapsed = verdict is MISSING and missing_since is not None and after(missing_since, hours=72) <= claimed_at
        assert custom_domain.status == ("lapsed" if is_lapsed else "verified")
        if is_lapsed:
            break
        assert verification.with_ended_verification_restarted(custom_domain, claimed_at) is custom_domain


@given(domain=DOMAINS, claimed_at=TIMESTAMPS, days=DAYS, verdict=VERDICTS, is_missing=st.booleans(), jitter=JITTER)
def test_the_next_check_is_before_the_deadline(*, domain, claimed_at, days, verdict, is_missing, jitter):
    checked_at, lapse_at = after(claimed_at, days=days), after(claimed_at, hours=72) if is_missing else "~"
    for custom_domain, deadline in [
        (pending_domain(domain, claimed_at), after(claimed_at, days=7)),
        (verified_domain(claimed_at, missing_since=claimed_at if is_missing else None), lapse_at),
    ]:
        fields = fields_after_check(custom_domain, verdict, checked_at, jitter)
        if fields["status"] in ("failed", "lapsed"):
            assert fields["next_check_at"] is None
        else:
            max_interval = 3_600 if fields["status"] == "pending" else 86_400
            assert checked_at < fields["next_check_at"] <= after(checked_at, seconds=max_interval * 1.1 + 0.001)
            if fields["status"] == custom_domain.status and fields["missing_since"] == custom_domain.missing_since:
                assert fields["next_check_at"] <= max(deadline, after(checked_at, hours=1.2))


@given(TIMESTAMPS, JITTER)
@settings(max_examples=10)
def test_a_pending_domain_is_checked_often_at_first_and_then_hourly(claimed_at, jitter):
    custom_domain, checks = pending_domain("shop.example.com", claimed_at), []
    while check := custom_domain.next_check_at:
        checks.append(check)
        custom_domain = custom_domain.replace(**fields_after_check(custom_domain, MISSING, check, jitter))
    assert custom_domain.status == "failed"
    assert (checks[0], checks[-1]) == (after(claimed_at, seconds=60), after(claimed_at, days=7))
    assert 4 <= sum(check <= after(claimed_at, seconds=400) for check in checks) <= 8
    assert 150 < len(checks) < 250


@given(DOMAINS, TIMESTAMPS)
@settings(max_examples=10)
def test_the_required_records_have_names_relative_to_the_registered_domain(domain, claimed_at):
    output = CustomDomainOut.of(pending_domain(domain, claimed_at))
    registered = "example.co.uk" if domain.endswith("uk") else "example.com"
    for record in output.records:
        full_name = registered if record.relative_name == "@" else f"{record.relative_name}.{registered}"
        assert (record.name, record.observed, record.ok) == (full_name, [], False)
    assert [record.purpose for record in output.records] == ["ownership", "routing"]
    assert output.records[0].name == f"_atrium-challenge.{domain}"
    assert output.records[1].type == ("ALIAS" if domain == registered else "CNAME")

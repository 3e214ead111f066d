"""Checks of a custom domain's DNS, requested by callers and by the schedule."""

from itertools import pairwise
from time import monotonic
from typing import Any

import pytest

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import dns_check
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution import attempts
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.domains import (
    CHALLENGE_NAME,
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    get_custom_domain,
    inventory_entry,
    publish_dns_records,
    verify_domain,
)

TARGET = "cname.atrium.example"
SERVICE_ADDRESSES = ["93.184.216.34", "2606:4700::1111"]
OTHER_ADDRESS = "93.184.215.14"

pytestmark = pytest.mark.usefixtures("nameserver")


DETAILS = {
    "TXT_NOT_FOUND": "DNS has no TXT record at {challenge}. Add one with the value {proof}.",
    "TXT_MISMATCH": "DNS has '{txt}' at {challenge}. Add another TXT record with the value {proof}.",
    "CNAME_MISMATCH": "Point it to {target} with a CNAME record, and remove its other CNAME, A and AAAA records.",
    "APEX_NEEDS_A_OR_ALIAS": "An apex can have no CNAME record.",
    "DOMAIN_TAKEN": "another platform has verified this domain",
    "DNS_TIMEOUT": "did not answer in time",
    "DNS_FAILURE": "answered with an error",
}
"""A part of the sentence for each error."""


@pytest.fixture
def verify(api, platform):
    def verify_and_check_detail() -> Json:
        domain = verify_domain(api, platform).expect(200).json
        proof = domain["records"][0]
        values = {"challenge": proof["name"], "proof": proof["expected"], "txt": "', '".join(proof["observed"][:3])}
        detail = DETAILS.get(domain["lastError"], "").format(target=TARGET, **values)
        if domain["lastError"] == "CNAME_MISMATCH" and not domain["records"][1]["observed"]:
            detail = f"DNS has no CNAME record at {domain['domain']}. Add one with the value {TARGET}."
        assert detail in (domain["lastErrorDetail"] or ""), domain["lastErrorDetail"]
        assert (domain["lastErrorDetail"] is None) == (domain["lastError"] is None)
        return domain

    return verify_and_check_detail


@pytest.fixture
def published_domain(claimed_domain, nameserver):
    """The claim of a domain whose required records are in DNS."""
    publish_dns_records(nameserver, claimed_domain)
    return claimed_domain


class TestVerifyCustomDomain:
    @pytest.mark.usefixtures("published_domain")
    def test_a_domain_with_all_records_is_verified(self, api, organization, platform, verify):
        domain = verify()
        assert (domain["status"], domain["lastError"]) == ("verified", None)
        assert domain["verifiedAt"] == domain["lastCheckedAt"] == domain["updatedAt"]
        assert all(record["ok"] and record["observed"] == [record["expected"]] for record in domain["records"])
        assert inventory_entry(api, organization, platform) == (SHOP_DOMAIN, "verified", domain["lastCheckedAt"])
        assert custom_domain_events(api, organization) == ["added", "verified"]
        guard = table.get(guard_key(CustomDomain.by_domain, {"domain": SHOP_DOMAIN}))
        assert guard is not None
        assert guard["ref"] == platform.id

    def test_a_domain_without_records_stays_pending(self, api, organization, claimed_domain, verify):
        domain = verify()
        assert (domain["status"], domain["lastError"], domain["verifiedAt"]) == ("pending", "TXT_NOT_FOUND", None)
        assert domain["records"] == claimed_domain["records"]
        routing = f"To route visitors, {SHOP_DOMAIN} also has to point to {TARGET} (CNAME)."
        deadline = f"The claim fails at {domain['failsAt']} unless the domain is verified by then."
        assert domain["lastErrorDetail"].endswith(f". {routing} {deadline}")
        assert domain["lastCheckedAt"] == domain["updatedAt"]
        assert custom_domain_events(api, organization) == ["added", "checked"]

    def test_a_platform_without_a_claimed_domain_has_nothing_to_verify(self, api, platform, nameserver):
        verify_domain(api, platform).expect_problem("409 invalid_transition", "No domain is claimed")
        assert nameserver.questions == []

    def test_the_proof_must_be_one_of_the_txt_records(self, api, published_domain, nameserver, other_platform, verify):
        proof_of_other = claim_domain(api, other_platform)["records"][0]["expected"]
        for texts in ([proof_of_other], ["atrium-verify=0"], ["v=spf1 -all", "x" * 400], [""]):
            nameserver.set_replies(CHALLENGE_NAME, texts, record_type="TXT")
            domain = verify()
            assert domain["lastError"] == "TXT_MISMATCH", texts
            assert [record["ok"] for record in domain["records"]] == [False, True]
            assert "To route visitors" not in domain["lastErrorDetail"]
            assert all(len(text) <= 300 for text in domain["records"][0]["observed"])
        texts = [*(f"elsewhere={n}" for n in range(30)), f" {published_domain['records'][0]['expected']} "]
        nameserver.set_replies(CHALLENGE_NAME, texts, record_type="TXT")
        domain = verify()
        assert (domain["status"], len(domain["records"][0]["observed"])) == ("verified", 10)

    @pytest.mark.usefixtures("published_domain")
    def test_a_chain_of_cnames_must_lead_to_the_service(self, nameserver, verify):
        for targets in (["elsewhere.example.net"], [SHOP_DOMAIN]):
            nameserver.set_replies(SHOP_DOMAIN, targets, record_type="CNAME")
            domain = verify()
            assert (domain["status"], domain["lastError"]) == ("pending", "CNAME_MISMATCH")
            assert domain["records"][1]["observed"][:1] == targets
            assert len(domain["records"][1]["observed"]) <= 10
        for link, next_link in pairwise([SHOP_DOMAIN, "a.example.net", "b.example.net", TARGET.upper()]):
            nameserver.set_replies(link, [next_link], record_type="CNAME")
        domain = verify()
        assert domain["status"] == "verified"
        assert domain["records"][1]["observed"] == ["a.example.net", "b.example.net", TARGET]

    def test_usual_mistakes_in_the_values_of_records_are_named(self, published_domain, nameserver, verify):
        quoted = f'"{published_domain["records"][0]["expected"]}"'
        nameserver.set_replies(CHALLENGE_NAME, [quoted], record_type="TXT")
        assert "contains quotation marks. Enter it without them." in verify()["lastErrorDetail"]
        for doubled in (f"{TARGET}.{SHOP_DOMAIN}", f"{TARGET}.example.com"):
            nameserver.set_replies(SHOP_DOMAIN, [doubled], record_type="CNAME")
            assert f"Enter it with a dot at the end: '{TARGET}.'" in verify()["lastErrorDetail"]
        publish_dns_records(nameserver, published_domain | {"records": published_domain["records"][:1]})
        domain = verify()
        assert domain["lastError"] == "CNAME_MISMATCH"
        assert "appended the zone" in domain["lastErrorDetail"]
        nameserver.set_replies(SHOP_DOMAIN, [f"{TARGET}.example.net"], record_type="CNAME")
        assert "appended the zone" not in verify()["lastErrorDetail"]

    @pytest.mark.usefixtures("published_domain")
    def test_a_subdomain_may_have_addresses_of_the_service_and_private_ones_are_hidden(self, nameserver, verify):
        nameserver.remove_name(SHOP_DOMAIN)
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)
        mismatch = "CNAME_MISMATCH"
        for addresses, error in (([], mismatch), ([OTHER_ADDRESS], mismatch), (SERVICE_ADDRESSES, None)):
            nameserver.set_replies(SHOP_DOMAIN, addresses)
            domain = verify()
            assert (domain["lastError"], domain["records"][1]["observed"]) == (error, addresses)
        nameserver.set_replies(SHOP_DOMAIN, ["10.1.2.3", OTHER_ADDRESS, "169.254.169.254", "127.0.0.1", "fd00::7"])
        domain = verify()
        assert domain["lastError"] == "CNAME_MISMATCH"
        # Only the stage `local` shows its loopback addresses.
        observed = ["an address that is not public", OTHER_ADDRESS, "127.0.0.1"]
        assert sorted(domain["records"][1]["observed"]) == sorted(observed)
        assert "10.1.2.3" not in str(domain)

    @pytest.mark.usefixtures("published_domain")
    def test_records_of_a_former_claim_do_not_count(self, api, platform, verify):
        claim_domain(api, platform, "other.example.com")
        assert verify()["lastError"] == "TXT_NOT_FOUND"


class TestVerifyAnApex:
    @pytest.fixture(autouse=True)
    def claimed_apex(self, api, platform, nameserver):
        """The claim of an apex domain, whose proof is in DNS, and whose alias target has addresses."""
        claimed = claim_domain(api, platform, "example.com")
        nameserver.set_replies("_atrium-challenge.example.com", [claimed["records"][0]["expected"]], record_type="TXT")
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)

    @pytest.mark.parametrize("addresses", [SERVICE_ADDRESSES, SERVICE_ADDRESSES[:1], SERVICE_ADDRESSES[1:]])
    def test_an_apex_may_have_the_addresses_of_the_alias_target(self, nameserver, verify, addresses):
        nameserver.set_replies("example.com", addresses)
        domain = verify()
        assert (domain["status"], domain["records"][1]["observed"]) == ("verified", addresses)

    def test_an_apex_may_have_the_configured_addresses(self, nameserver, configure, verify):
        configure(platforms_addresses=",".join(SERVICE_ADDRESSES))
        nameserver.set_replies("example.com", SERVICE_ADDRESSES[:1])
        domain = verify()
        assert domain["status"] == "verified"
        observed = [(record["type"], record["observed"], record["ok"]) for record in domain["records"][1:]]
        assert observed == [("A", SERVICE_ADDRESSES[:1], True), ("AAAA", [], True)]

    def test_an_apex_without_any_record_is_told_that_it_can_have_no_cname(self, nameserver, verify):
        nameserver.set_replies("_atrium-challenge.example.com", [], record_type="TXT")
        domain = verify()
        assert domain["lastError"] == "TXT_NOT_FOUND"
        routing = f"example.com also has to point to {TARGET} (ALIAS). An apex can have no CNAME record."
        assert routing in domain["lastErrorDetail"]

    def test_an_apex_with_other_addresses_or_a_cname_is_rejected(self, nameserver, verify):
        for addresses in ([], [OTHER_ADDRESS], [*SERVICE_ADDRESSES, OTHER_ADDRESS]):
            nameserver.set_replies("example.com", addresses)
            domain = verify()
            assert (domain["status"], domain["lastError"]) == ("pending", "APEX_NEEDS_A_OR_ALIAS"), addresses
            assert sorted(domain["records"][1]["observed"]) == sorted(addresses)
        nameserver.set_replies("example.com", [TARGET], record_type="CNAME")
        domain = verify()
        assert (domain["lastError"], domain["records"][1]["observed"]) == ("APEX_NEEDS_A_OR_ALIAS", [TARGET])


class TestDnsFailures:
    @pytest.mark.parametrize("name", [CHALLENGE_NAME, SHOP_DOMAIN])
    def test_a_dns_failure_is_reported_and_the_domain_stays_verified(
        self, api, verified_platform, nameserver, verify, monkeypatch, name
    ):
        monkeypatch.setattr(dns_check, "_QUERY_TIMEOUT_SECONDS", 0.2)
        before = get_custom_domain(api, verified_platform)
        for failure, error in (("SILENCE", "DNS_TIMEOUT"), ("SERVFAIL", "DNS_FAILURE"), ("REFUSED", "DNS_FAILURE")):
            for record_type in ("TXT", "CNAME"):
                nameserver.set_replies(name, failure, record_type=record_type)
            domain = verify()
            assert (domain["status"], domain["lastError"]) == ("verified", error)
            assert [domain[name] for name in ("verifiedAt", "records")] == [before["verifiedAt"], before["records"]]

    @pytest.mark.usefixtures("claimed_domain")
    def test_a_check_ends_soon_without_dns(self, nameserver, verify):
        for record_type in ("TXT", "CNAME", "A", "AAAA"):
            for name in (CHALLENGE_NAME, SHOP_DOMAIN, TARGET):
                nameserver.set_replies(name, "SILENCE", record_type=record_type)
        started_at = monotonic()
        assert verify()["lastError"] == "DNS_TIMEOUT"
        assert monotonic() - started_at < 5.5  # One query after the other would take 6 s.
        assert {name for name, _ in nameserver.questions} == {CHALLENGE_NAME, SHOP_DOMAIN, TARGET}


class TestDomainOfAnotherPlatform:
    def test_a_taken_domain_is_an_error(self, api, organization, verified_platform, other_platform, nameserver):
        publish_dns_records(nameserver, claim_domain(api, other_platform))
        domain = verify_domain(api, other_platform).json
        assert (domain["status"], domain["lastError"]) == ("pending", "DOMAIN_TAKEN")
        assert all(record["ok"] for record in domain["records"])
        assert verified_platform.id not in str(domain)
        assert custom_domain_events(api, organization) == ["added", "verified", "added", "checked"]

    @pytest.mark.parametrize("max_wait_seconds", [3, 0])
    def test_the_first_of_two_concurrent_checks_gets_the_domain(
        self, api, platform, other_platform, nameserver, monkeypatch, max_wait_seconds
    ):
        monkeypatch.setattr(attempts, "_MAX_WAIT_SECONDS", max_wait_seconds)
        proofs = [claim_domain(api, each)["records"][0]["expected"] for each in (platform, other_platform)]
        nameserver.set_replies(CHALLENGE_NAME, proofs, record_type="TXT")
        nameserver.set_replies(SHOP_DOMAIN, [TARGET], record_type="CNAME")
        is_verified_elsewhere = dns_check._is_verified_elsewhere  # noqa: SLF001
        responses: list[ApiResponse] = []

        def verify_other_platform_meanwhile(custom: CustomDomain) -> bool:
            is_verified = is_verified_elsewhere(custom)
            if custom.id == platform.id and not responses:
                responses.append(verify_domain(api, other_platform))
            return is_verified

        monkeypatch.setattr(dns_check, "_is_verified_elsewhere", verify_other_platform_meanwhile)
        responses.append(verify_domain(api, platform))
        states = [(each.status, each.json["status"], each.json["lastError"]) for each in responses]
        assert states == [(200, "verified", None), (200, "pending", "DOMAIN_TAKEN")]


@pytest.fixture
def state_after(api, platform, clock, workers):
    """A function that shifts the clock, runs what is due, and returns the status and the error of the domain."""

    def state_after(**amounts: float) -> tuple[Any, Any]:
        clock.shift(**amounts)
        workers.run_sweep()
        workers.deliver()
        domain = get_custom_domain(api, platform)
        return domain["status"], domain["lastError"]

    return state_after


def test_a_claimed_domain_is_checked_by_the_schedule(
    api, organization, platform, claimed_domain, nameserver, state_after
):
    assert state_after(seconds=30) == ("pending", None)
    assert nameserver.questions == []
    assert state_after(seconds=31) == ("pending", "TXT_NOT_FOUND")
    publish_dns_records(nameserver, claimed_domain)
    assert state_after(seconds=70) == ("verified", None)
    newest = list_entries(api, organization)[0]
    assert (newest["type"], newest["actor"]["type"]) == ("platform.custom_domain.verified", "system")
    assert inventory_entry(api, organization, platform)[:2] == (SHOP_DOMAIN, "verified")


def test_an_unchanged_result_updates_the_time_of_the_check_without_an_entry(
    api, organization, verified_platform, state_after
):
    before = get_custom_domain(api, verified_platform)
    state_after(hours=20)
    assert get_custom_domain(api, verified_platform) == before
    state_after(hours=7)
    checked = get_custom_domain(api, verified_platform)
    checked_at = checked["lastCheckedAt"]
    assert checked_at > before["lastCheckedAt"]
    assert checked == before | {"lastCheckedAt": checked_at, "nextCheckAt": checked["nextCheckAt"]}
    assert checked["nextCheckAt"] > before["nextCheckAt"]
    assert inventory_entry(api, organization, verified_platform) == (SHOP_DOMAIN, "verified", checked_at)
    assert custom_domain_events(api, organization) == ["added", "verified"]


@pytest.mark.usefixtures("claimed_domain")
def test_a_claim_fails_after_seven_days_and_is_pending_again_after_a_request(
    api, organization, platform, nameserver, state_after
):
    claimed = get_custom_domain(api, platform)
    assert claimed["failsAt"] == after(claimed["updatedAt"], days=7)
    assert state_after(days=6, hours=23)[0] == "pending"
    assert state_after(hours=2)[0] == "failed"
    failed = get_custom_domain(api, platform)
    assert (failed["nextCheckAt"], failed["failsAt"]) == (None, None)
    assert inventory_entry(api, organization, platform)[:2] == (SHOP_DOMAIN, "failed")
    question_count = len(nameserver.questions)
    state_after(days=1)
    assert len(nameserver.questions) == question_count
    assert claim_domain(api, platform, "other.example.com")["status"] == "pending"
    assert claim_domain(api, platform)["status"] == "pending"
    assert state_after(days=8)[0] == "failed"
    checked = verify_domain(api, platform).json
    assert (checked["status"], checked["lastError"]) == ("pending", "TXT_NOT_FOUND")
    assert custom_domain_events(api, organization) == ["added", "failed", "added", "added", "failed", "checked"]
    publish_dns_records(nameserver, checked)
    assert state_after(minutes=2)[0] == "verified"


@pytest.mark.usefixtures("verified_platform")
def test_a_domain_does_not_lapse_while_dns_times_out_or_for_another_cname(nameserver, state_after, monkeypatch):
    monkeypatch.setattr(dns_check, "_QUERY_TIMEOUT_SECONDS", 0.1)
    nameserver.set_replies(SHOP_DOMAIN, ["elsewhere.example.net"], record_type="CNAME")
    assert [state_after(hours=27) for _ in range(4)] == [("verified", "CNAME_MISMATCH")] * 4
    nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
    assert state_after(hours=27)[1] == "TXT_NOT_FOUND"
    nameserver.set_replies(CHALLENGE_NAME, "SILENCE", record_type="TXT")
    assert [state_after(hours=27) for _ in range(4)] == [("verified", "DNS_TIMEOUT")] * 4
    nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
    assert state_after(hours=2)[0] == "lapsed"


def test_a_domain_lapses_after_three_days_without_its_proof(
    api, organization, verified_platform, other_platform, nameserver, state_after
):
    second_claim = claim_domain(api, other_platform)
    nameserver.set_replies(CHALLENGE_NAME, [second_claim["records"][0]["expected"]], record_type="TXT")
    state_after(hours=27)
    lapsing = get_custom_domain(api, verified_platform)
    assert lapsing["failsAt"] == after(lapsing["lastCheckedAt"], hours=72)
    deadline = f"The domain works until {lapsing['failsAt']}. It lapses then if its TXT record is still missing."
    assert lapsing["lastErrorDetail"].endswith(deadline)
    assert state_after(hours=71) == ("verified", "TXT_MISMATCH")
    assert verify_domain(api, other_platform).json["lastError"] == "DOMAIN_TAKEN"
    assert state_after(hours=2)[0] == "lapsed"
    lapsed = get_custom_domain(api, verified_platform)
    assert lapsed["verifiedAt"] is None
    assert inventory_entry(api, organization, verified_platform)[:2] == (SHOP_DOMAIN, "lapsed")
    assert verify_domain(api, other_platform).json["status"] == "verified"
    nameserver.set_replies(CHALLENGE_NAME, [lapsed["records"][0]["expected"]], record_type="TXT")
    rechecked = verify_domain(api, verified_platform).json
    assert (rechecked["status"], rechecked["lastError"]) == ("pending", "DOMAIN_TAKEN")


def test_a_requested_check_can_find_the_domain_lapsed(api, organization, verified_platform, nameserver, clock, grace):
    nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
    assert verify_domain(api, verified_platform).json["status"] == "verified"
    clock.shift(hours=72)
    assert verified_platform.post("/custom-domain/verify", {}, caller=grace).json["status"] == "lapsed"
    assert custom_domain_events(api, organization)[-2:] == ["checked", "lapsed"]


@pytest.mark.usefixtures("claimed_domain")
def test_removed_domains_and_deleted_platforms_are_not_checked(api, platform, other_platform, nameserver, state_after):
    claim_domain(api, other_platform)
    platform.delete("/custom-domain")
    other_platform.delete()
    state_after(minutes=2)
    assert nameserver.questions == []

"""Scheduled checks of custom domains."""

from typing import Any

import pytest

from chalicelib.features.platforms.domains.logic import dns_check
from tests.harness.audit_logs import list_entries
from tests.harness.domains import (
    CHALLENGE_NAME,
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    get_custom_domain,
    inventory_entry,
    publish_dns_records,
    stored_custom_domain,
    verify_domain,
)

pytestmark = pytest.mark.usefixtures("nameserver")


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
    after = get_custom_domain(api, verified_platform)
    checked_at = after["lastCheckedAt"]
    assert checked_at > before["lastCheckedAt"]
    assert after == before | {"lastCheckedAt": checked_at}
    assert inventory_entry(api, organization, verified_platform) == (SHOP_DOMAIN, "verified", checked_at)
    assert custom_domain_events(api, organization) == ["added", "verified"]


@pytest.mark.usefixtures("claimed_domain")
def test_a_claim_fails_after_seven_days_and_is_pending_again_after_a_request(
    api, organization, platform, nameserver, state_after
):
    assert state_after(days=6, hours=23)[0] == "pending"
    assert state_after(hours=2)[0] == "failed"
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


def test_a_domain_lapses_after_three_days_without_its_proof(
    api, organization, verified_platform, other_platform, nameserver, state_after
):
    second_claim = claim_domain(api, other_platform)
    nameserver.set_replies(CHALLENGE_NAME, [second_claim["records"][0]["expected"]], record_type="TXT")
    state_after(hours=27)
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


def test_a_domain_whose_proof_returns_in_time_stays_verified(api, verified_platform, nameserver, state_after):
    proof = get_custom_domain(api, verified_platform)["records"][0]["expected"]
    for texts in ([], [proof]) * 2:
        nameserver.set_replies(CHALLENGE_NAME, texts, record_type="TXT")
        state_after(hours=27)
        assert state_after(hours=27)[0] == "verified"
    assert stored_custom_domain(verified_platform).missing_since is None


@pytest.mark.usefixtures("verified_platform")
def test_a_domain_with_another_cname_stays_verified(nameserver, state_after):
    nameserver.set_replies(SHOP_DOMAIN, ["elsewhere.example.net"], record_type="CNAME")
    for _ in range(5):
        state = state_after(hours=27)
    assert state == ("verified", "CNAME_MISMATCH")


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


@pytest.mark.usefixtures("verified_platform")
def test_a_domain_does_not_lapse_while_dns_times_out(api, organization, nameserver, state_after, monkeypatch):
    monkeypatch.setattr(dns_check, "_QUERY_TIMEOUT_SECONDS", 0.1)
    nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
    assert state_after(hours=27)[1] == "TXT_NOT_FOUND"
    nameserver.set_replies(CHALLENGE_NAME, "SILENCE", record_type="TXT")
    for _ in range(4):
        state = state_after(hours=27)
    assert state == ("verified", "DNS_TIMEOUT")
    nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
    assert state_after(hours=2)[0] == "lapsed"
    assert custom_domain_events(api, organization) == ["added", "verified", "lapsed"]

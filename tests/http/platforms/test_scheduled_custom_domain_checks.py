"""Scheduled checks of custom domains."""

from collections.abc import Callable

import pytest

from chalicelib.features.platforms.domains.logic import dns_check
from tests.harness.audit_logs import list_entries
from tests.harness.clock import Clock
from tests.harness.domains import (
    CHALLENGE_NAME,
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    custom_domain_path,
    get_custom_domain,
    inventory_entry,
    publish_dns_records,
    stored_custom_domain,
    verify_domain,
)
from tests.harness.workers import Workers

AdvanceTime = Callable[..., None]

pytestmark = pytest.mark.usefixtures("nameserver")


@pytest.fixture
def short_dns_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short timeout of DNS queries."""
    monkeypatch.setattr(dns_check, "_QUERY_TIMEOUT_SECONDS", 0.2)


@pytest.fixture
def advance_time(clock: Clock, workers: Workers) -> AdvanceTime:
    """A function that shifts the clock and then runs what is due."""

    def advance_time(**amounts: float) -> None:
        clock.shift(**amounts)
        workers.run_sweep()
        workers.deliver()

    return advance_time


class TestScheduledChecks:
    def test_a_claimed_domain_is_checked_by_the_schedule(
        self, api, organization, platform, claimed_domain, nameserver, advance_time
    ):
        advance_time(seconds=30)
        assert nameserver.questions == []
        advance_time(seconds=31)
        assert [get_custom_domain(api, platform)[name] for name in ("status", "lastError")] == [
            "pending",
            "TXT_NOT_FOUND",
        ]
        publish_dns_records(nameserver, claimed_domain)
        advance_time(seconds=70)
        assert get_custom_domain(api, platform)["status"] == "verified"
        newest = list_entries(api, organization)[0]
        assert (newest["type"], newest["actor"]["type"]) == ("platform.custom_domain.verified", "system")
        assert inventory_entry(api, organization, platform)[:2] == (SHOP_DOMAIN, "verified")

    def test_an_unchanged_result_updates_the_time_of_the_check_without_an_entry(
        self, api, organization, verified_platform, advance_time
    ):
        before = get_custom_domain(api, verified_platform)
        advance_time(hours=20)
        assert get_custom_domain(api, verified_platform) == before
        advance_time(hours=7)
        after = get_custom_domain(api, verified_platform)
        assert after["lastCheckedAt"] > before["lastCheckedAt"]
        assert after == before | {"lastCheckedAt": after["lastCheckedAt"]}
        assert inventory_entry(api, organization, verified_platform) == (
            SHOP_DOMAIN,
            "verified",
            after["lastCheckedAt"],
        )
        assert custom_domain_events(api, organization) == ["added", "verified"]

    @pytest.mark.usefixtures("claimed_domain")
    def test_a_claim_fails_after_seven_days_and_is_pending_again_after_a_request(
        self, api, organization, platform, nameserver, advance_time
    ):
        advance_time(days=6, hours=23)
        assert get_custom_domain(api, platform)["status"] == "pending"
        advance_time(hours=2)
        assert get_custom_domain(api, platform)["status"] == "failed"
        assert inventory_entry(api, organization, platform)[:2] == (SHOP_DOMAIN, "failed")
        question_count = len(nameserver.questions)
        advance_time(days=1)
        assert len(nameserver.questions) == question_count
        assert claim_domain(api, platform, "other.example.com")["status"] == "pending"
        assert claim_domain(api, platform)["status"] == "pending"
        advance_time(days=8)
        assert get_custom_domain(api, platform)["status"] == "failed"
        checked = verify_domain(api, platform).json
        assert (checked["status"], checked["lastError"]) == ("pending", "TXT_NOT_FOUND")
        assert custom_domain_events(api, organization) == ["added", "failed", "added", "added", "failed", "checked"]
        publish_dns_records(nameserver, checked)
        advance_time(minutes=2)
        assert get_custom_domain(api, platform)["status"] == "verified"

    def test_a_domain_lapses_after_three_days_without_its_proof(
        self, api, organization, verified_platform, other_platform, nameserver, advance_time
    ):
        second_claim = claim_domain(api, other_platform)
        nameserver.set_replies(CHALLENGE_NAME, [second_claim["records"][0]["expected"]], record_type="TXT")
        advance_time(hours=27)
        advance_time(hours=71)
        assert [get_custom_domain(api, verified_platform)[name] for name in ("status", "lastError")] == [
            "verified",
            "TXT_MISMATCH",
        ]
        assert verify_domain(api, other_platform).json["lastError"] == "DOMAIN_TAKEN"
        advance_time(hours=2)
        lapsed = get_custom_domain(api, verified_platform)
        assert (lapsed["status"], lapsed["verifiedAt"]) == ("lapsed", None)
        assert inventory_entry(api, organization, verified_platform)[:2] == (SHOP_DOMAIN, "lapsed")
        assert verify_domain(api, other_platform).json["status"] == "verified"
        nameserver.set_replies(CHALLENGE_NAME, [lapsed["records"][0]["expected"]], record_type="TXT")
        rechecked = verify_domain(api, verified_platform).json
        assert (rechecked["status"], rechecked["lastError"]) == ("pending", "DOMAIN_TAKEN")

    def test_a_domain_whose_proof_returns_in_time_stays_verified(
        self, api, verified_platform, nameserver, advance_time
    ):
        proof = get_custom_domain(api, verified_platform)["records"][0]["expected"]
        for texts in ([], [proof]) * 3:
            nameserver.set_replies(CHALLENGE_NAME, texts, record_type="TXT")
            advance_time(hours=27)
            advance_time(hours=27)
            assert get_custom_domain(api, verified_platform)["status"] == "verified"
        assert stored_custom_domain(verified_platform).missing_since is None

    def test_a_domain_with_another_cname_stays_verified(self, api, verified_platform, nameserver, advance_time):
        nameserver.set_replies(SHOP_DOMAIN, ["elsewhere.example.net"], record_type="CNAME")
        for _ in range(5):
            advance_time(hours=27)
        assert [get_custom_domain(api, verified_platform)[name] for name in ("status", "lastError")] == [
            "verified",
            "CNAME_MISMATCH",
        ]

    def test_a_requested_check_can_find_the_domain_lapsed(
        self, api, organization, verified_platform, nameserver, clock, grace
    ):
        nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
        assert verify_domain(api, verified_platform).json["status"] == "verified"
        clock.shift(hours=72)
        assert (
            api.post(f"{custom_domain_path(verified_platform)}/verify", caller=grace, json={}).json["status"]
            == "lapsed"
        )
        assert custom_domain_events(api, organization)[-2:] == ["checked", "lapsed"]

    @pytest.mark.usefixtures("claimed_domain")
    def test_removed_domains_and_deleted_platforms_are_not_checked(
        self, api, platform, other_platform, nameserver, advance_time
    ):
        claim_domain(api, other_platform)
        api.delete(custom_domain_path(platform), caller=platform.owner)
        api.delete(other_platform.path, caller=other_platform.owner)
        advance_time(minutes=2)
        assert nameserver.questions == []

    @pytest.mark.usefixtures("short_dns_timeout")
    def test_a_domain_does_not_lapse_while_dns_times_out(
        self, api, organization, verified_platform, nameserver, advance_time
    ):
        nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
        advance_time(hours=27)
        assert get_custom_domain(api, verified_platform)["lastError"] == "TXT_NOT_FOUND"
        nameserver.set_replies(CHALLENGE_NAME, "SILENCE", record_type="TXT")
        for _ in range(5):
            advance_time(hours=27)
        assert [get_custom_domain(api, verified_platform)[name] for name in ("status", "lastError")] == [
            "verified",
            "DNS_TIMEOUT",
        ]
        nameserver.set_replies(CHALLENGE_NAME, [], record_type="TXT")
        advance_time(hours=2)
        assert get_custom_domain(api, verified_platform)["status"] == "lapsed"
        assert custom_domain_events(api, organization) == ["added", "verified", "lapsed"]

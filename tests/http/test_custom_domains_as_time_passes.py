"""Scheduled checks of custom domains."""

from collections.abc import Callable

import pytest

from chalicelib.features.platforms.domains.logic import dns_check
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.domains import PROOF, SHOP, claim, entry_of, holds, path, shown, stored, told, verify
from tests.harness.logs import log_of
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import Founded
from tests.harness.platforms import Running
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
        workers.sweep()
        workers.deliver()

    return advance_time


class TestScheduledChecks:
    def test_a_claimed_domain_is_checked_by_the_schedule(
        self,
        api: Api,
        organization: Founded,
        platform: Running,
        claimed: Json,
        nameserver: Nameserver,
        advance_time: AdvanceTime,
    ) -> None:
        advance_time(seconds=30)
        assert nameserver.questions == []
        advance_time(seconds=31)
        assert [shown(api, platform)[name] for name in ("status", "lastError")] == ["pending", "TXT_NOT_FOUND"]
        holds(nameserver, claimed)
        advance_time(seconds=70)
        assert shown(api, platform)["status"] == "verified"
        newest = log_of(api, organization)[0]
        assert (newest["type"], newest["actor"]["type"]) == ("platform.custom_domain.verified", "system")
        assert entry_of(api, organization, platform)[:2] == (SHOP, "verified")

    def test_an_unchanged_result_updates_the_time_of_the_check_without_an_entry(
        self, api: Api, organization: Founded, verified: Running, advance_time: AdvanceTime
    ) -> None:
        before = shown(api, verified)
        advance_time(hours=20)
        assert shown(api, verified) == before
        advance_time(hours=7)
        after = shown(api, verified)
        assert after["lastCheckedAt"] > before["lastCheckedAt"]
        assert after == before | {"lastCheckedAt": after["lastCheckedAt"]}
        assert entry_of(api, organization, verified) == (SHOP, "verified", after["lastCheckedAt"])
        assert told(api, organization) == ["added", "verified"]

    @pytest.mark.usefixtures("claimed")
    def test_a_claim_fails_after_seven_days_and_is_pending_again_after_a_request(
        self, api: Api, organization: Founded, platform: Running, nameserver: Nameserver, advance_time: AdvanceTime
    ) -> None:
        advance_time(days=6, hours=23)
        assert shown(api, platform)["status"] == "pending"
        advance_time(hours=2)
        assert shown(api, platform)["status"] == "failed"
        assert entry_of(api, organization, platform)[:2] == (SHOP, "failed")
        question_count = len(nameserver.questions)
        advance_time(days=1)
        assert len(nameserver.questions) == question_count
        assert claim(api, platform, "other.example.com")["status"] == "pending"
        assert claim(api, platform)["status"] == "pending"
        advance_time(days=8)
        assert shown(api, platform)["status"] == "failed"
        checked = verify(api, platform).json
        assert (checked["status"], checked["lastError"]) == ("pending", "TXT_NOT_FOUND")
        assert told(api, organization) == ["added", "failed", "added", "added", "failed", "checked"]
        holds(nameserver, checked)
        advance_time(minutes=2)
        assert shown(api, platform)["status"] == "verified"

    def test_a_domain_lapses_after_three_days_without_its_proof(
        self,
        api: Api,
        organization: Founded,
        verified: Running,
        elsewhere: Running,
        nameserver: Nameserver,
        advance_time: AdvanceTime,
    ) -> None:
        second_claim = claim(api, elsewhere)
        nameserver.says(PROOF, [second_claim["records"][0]["expected"]], of="TXT")
        advance_time(hours=27)
        advance_time(hours=71)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "TXT_MISMATCH"]
        assert verify(api, elsewhere).json["lastError"] == "DOMAIN_TAKEN"
        advance_time(hours=2)
        lapsed = shown(api, verified)
        assert (lapsed["status"], lapsed["verifiedAt"]) == ("lapsed", None)
        assert entry_of(api, organization, verified)[:2] == (SHOP, "lapsed")
        assert verify(api, elsewhere).json["status"] == "verified"
        nameserver.says(PROOF, [lapsed["records"][0]["expected"]], of="TXT")
        rechecked = verify(api, verified).json
        assert (rechecked["status"], rechecked["lastError"]) == ("pending", "DOMAIN_TAKEN")

    def test_a_domain_whose_proof_returns_in_time_stays_verified(
        self, api: Api, verified: Running, nameserver: Nameserver, advance_time: AdvanceTime
    ) -> None:
        proof = shown(api, verified)["records"][0]["expected"]
        for texts in ([], [proof]) * 3:
            nameserver.says(PROOF, texts, of="TXT")
            advance_time(hours=27)
            advance_time(hours=27)
            assert shown(api, verified)["status"] == "verified"
        assert stored(verified).missing_since is None

    def test_a_domain_with_another_cname_stays_verified(
        self, api: Api, verified: Running, nameserver: Nameserver, advance_time: AdvanceTime
    ) -> None:
        nameserver.says(SHOP, ["elsewhere.example.net"], of="CNAME")
        for _ in range(5):
            advance_time(hours=27)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "CNAME_MISMATCH"]

    def test_a_requested_check_can_find_the_domain_lapsed(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver, clock: Clock, grace: Person
    ) -> None:
        nameserver.says(PROOF, [], of="TXT")
        assert verify(api, verified).json["status"] == "verified"
        clock.shift(hours=72)
        assert api.post(f"{path(verified)}/verify", as_=grace, json={}).json["status"] == "lapsed"
        assert told(api, organization)[-2:] == ["checked", "lapsed"]

    @pytest.mark.usefixtures("claimed")
    def test_removed_domains_and_deleted_platforms_are_not_checked(
        self, api: Api, platform: Running, elsewhere: Running, nameserver: Nameserver, advance_time: AdvanceTime
    ) -> None:
        claim(api, elsewhere)
        api.delete(path(platform), as_=platform.owner)
        api.delete(elsewhere.path, as_=elsewhere.owner)
        advance_time(minutes=2)
        assert nameserver.questions == []

    @pytest.mark.usefixtures("short_dns_timeout")
    def test_a_domain_does_not_lapse_while_dns_times_out(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver, advance_time: AdvanceTime
    ) -> None:
        nameserver.says(PROOF, [], of="TXT")
        advance_time(hours=27)
        assert shown(api, verified)["lastError"] == "TXT_NOT_FOUND"
        nameserver.says(PROOF, "SILENCE", of="TXT")
        for _ in range(5):
            advance_time(hours=27)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "DNS_TIMEOUT"]
        nameserver.says(PROOF, [], of="TXT")
        advance_time(hours=2)
        assert shown(api, verified)["status"] == "lapsed"
        assert told(api, organization) == ["added", "verified", "lapsed"]

"""What becomes of a custom domain by itself as time passes."""

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

Pass = Callable[..., None]

pytestmark = pytest.mark.usefixtures("nameserver")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives no answer is given up soon."""
    monkeypatch.setattr(dns_check, "_QUERY_TIMEOUT_SECONDS", 0.2)


@pytest.fixture
def pass_(clock: Clock, workers: Workers) -> Pass:
    """Let time pass, and what is due be done at its end."""

    def pass_(**amounts: float) -> None:
        clock.shift(**amounts)
        workers.sweep()
        workers.deliver()

    return pass_


class TestAsTimePasses:
    def test_a_claim_is_looked_at_without_being_asked_for(
        self, api: Api, organization: Founded, platform: Running, claimed: Json, nameserver: Nameserver, pass_: Pass
    ) -> None:
        pass_(seconds=30)
        assert nameserver.questions == []
        pass_(seconds=31)
        assert [shown(api, platform)[name] for name in ("status", "lastError")] == ["pending", "TXT_NOT_FOUND"]
        holds(nameserver, claimed)
        pass_(seconds=70)
        assert shown(api, platform)["status"] == "verified"
        newest = log_of(api, organization)[0]
        assert (newest["type"], newest["actor"]["type"]) == ("platform.custom_domain.verified", "system")
        assert entry_of(api, organization, platform)[:2] == (SHOP, "verified")

    def test_a_look_that_changes_nothing_is_shown_and_makes_no_entry(
        self, api: Api, organization: Founded, verified: Running, pass_: Pass
    ) -> None:
        before = shown(api, verified)
        pass_(hours=20)
        assert shown(api, verified) == before
        pass_(hours=7)
        after = shown(api, verified)
        assert after["lastCheckedAt"] > before["lastCheckedAt"]
        assert after == before | {"lastCheckedAt": after["lastCheckedAt"]}
        assert entry_of(api, organization, verified) == (SHOP, "verified", after["lastCheckedAt"])
        assert told(api, organization) == ["added", "verified"]

    @pytest.mark.usefixtures("claimed")
    def test_a_claim_fails_after_seven_days_and_is_pending_again_when_somebody_asks(
        self, api: Api, organization: Founded, platform: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        pass_(days=6, hours=23)
        assert shown(api, platform)["status"] == "pending"
        pass_(hours=2)
        assert shown(api, platform)["status"] == "failed"
        assert entry_of(api, organization, platform)[:2] == (SHOP, "failed")
        asked = len(nameserver.questions)
        pass_(days=1)
        assert len(nameserver.questions) == asked
        assert claim(api, platform, "other.example.com")["status"] == "pending"
        assert claim(api, platform)["status"] == "pending"
        pass_(days=8)
        assert shown(api, platform)["status"] == "failed"
        again = verify(api, platform).json
        assert (again["status"], again["lastError"]) == ("pending", "TXT_NOT_FOUND")
        assert told(api, organization) == ["added", "failed", "added", "added", "failed", "checked"]
        holds(nameserver, again)
        pass_(minutes=2)
        assert shown(api, platform)["status"] == "verified"

    def test_a_domain_lapses_after_three_days_without_its_proof_and_is_free(
        self,
        api: Api,
        organization: Founded,
        verified: Running,
        elsewhere: Running,
        nameserver: Nameserver,
        pass_: Pass,
    ) -> None:
        theirs = claim(api, elsewhere)
        nameserver.says(PROOF, [theirs["records"][0]["expected"]], of="TXT")
        pass_(hours=27)
        pass_(hours=71)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "TXT_MISMATCH"]
        assert verify(api, elsewhere).json["lastError"] == "DOMAIN_TAKEN"
        pass_(hours=2)
        lapsed = shown(api, verified)
        assert (lapsed["status"], lapsed["verifiedAt"]) == ("lapsed", None)
        assert entry_of(api, organization, verified)[:2] == (SHOP, "lapsed")
        assert verify(api, elsewhere).json["status"] == "verified"
        nameserver.says(PROOF, [lapsed["records"][0]["expected"]], of="TXT")
        back = verify(api, verified).json
        assert (back["status"], back["lastError"]) == ("pending", "DOMAIN_TAKEN")

    def test_a_domain_whose_proof_is_back_in_time_stays(
        self, api: Api, verified: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        proof = shown(api, verified)["records"][0]["expected"]
        for held in ([], [proof]) * 3:
            nameserver.says(PROOF, held, of="TXT")
            pass_(hours=27)
            pass_(hours=27)
            assert shown(api, verified)["status"] == "verified"
        assert stored(verified).missing_since is None

    def test_a_domain_that_leads_elsewhere_stays_verified(
        self, api: Api, verified: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        nameserver.says(SHOP, ["elsewhere.example.net"], of="CNAME")
        for _ in range(5):
            pass_(hours=27)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "CNAME_MISMATCH"]

    def test_somebody_who_asks_may_find_that_it_has_lapsed(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver, clock: Clock, grace: Person
    ) -> None:
        nameserver.says(PROOF, [], of="TXT")
        assert verify(api, verified).json["status"] == "verified"
        clock.shift(hours=72)
        assert api.post(f"{path(verified)}/verify", as_=grace, json={}).json["status"] == "lapsed"
        assert told(api, organization)[-2:] == ["checked", "lapsed"]

    @pytest.mark.usefixtures("claimed")
    def test_what_was_given_up_or_deleted_is_looked_at_no_more(
        self, api: Api, platform: Running, elsewhere: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        claim(api, elsewhere)
        api.delete(path(platform), as_=platform.owner)
        api.delete(elsewhere.path, as_=elsewhere.owner)
        pass_(minutes=2)
        assert nameserver.questions == []

    @pytest.mark.usefixtures("brisk")
    def test_dns_that_does_not_answer_lets_nothing_lapse(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        nameserver.says(PROOF, [], of="TXT")
        pass_(hours=27)
        assert shown(api, verified)["lastError"] == "TXT_NOT_FOUND"
        nameserver.says(PROOF, "SILENCE", of="TXT")
        for _ in range(5):
            pass_(hours=27)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "DNS_TIMEOUT"]
        nameserver.says(PROOF, [], of="TXT")
        pass_(hours=2)
        assert shown(api, verified)["status"] == "lapsed"
        assert told(api, organization) == ["added", "verified", "lapsed"]

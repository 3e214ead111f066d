"""What a custom domain's DNS holds decides what becomes of it: when somebody asks, and by itself as time passes."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic

import pytest

from chalicelib.features.domains import checks
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.kernel import pipeline, table
from chalicelib.kernel.changes import guard_key
from tests.conftest import Configure
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.domains import SHOP, claim, holds, path, shown, stored, verify
from tests.harness.logs import log_of
from tests.harness.nameserver import Failure, Nameserver
from tests.harness.organizations import Founded
from tests.harness.running import Running, run_platform
from tests.harness.workers import Workers

PROOF = f"_atrium-challenge.{SHOP}"
TARGET = "cname.atrium.example"
OURS = ["192.0.2.7", "2001:db8::7"]


@pytest.fixture
def nameserver(configure: Configure) -> Iterator[Nameserver]:
    with Nameserver() as nameserver:
        configure(dns_nameservers=nameserver.address)
        yield nameserver


@pytest.fixture
def platform(api: Api, organization: Founded, nameserver: Nameserver) -> Running:  # noqa: ARG001 - it asks there
    return run_platform(api, organization)


@pytest.fixture
def other(api: Api, organization: Founded) -> Running:
    """Another platform, that may want the same."""
    return run_platform(api, organization, name="Looms")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives no answer is given up soon."""
    monkeypatch.setattr(checks, "_SECONDS", 0.2)


@pytest.fixture
def claimed(api: Api, platform: Running) -> Json:
    return claim(api, platform)


@pytest.fixture
def verified(api: Api, platform: Running, claimed: Json, nameserver: Nameserver) -> Running:
    """A platform whose domain is verified, the clock's hour at which that was."""
    holds(nameserver, claimed)
    assert verify(api, platform).json["status"] == "verified"
    return platform


@pytest.fixture
def pass_(clock: Clock, workers: Workers) -> Callable[..., None]:
    """Let time pass, and what is due be done at its end."""

    def pass_(**amounts: float) -> None:
        clock.shift(**amounts)
        workers.sweep()
        workers.deliver()

    return pass_


Pass = Callable[..., None]


def told(api: Api, organization: Founded) -> list[str]:
    """What has happened to custom domains, the first first."""
    named = [entry["type"].removeprefix("platform.custom_domain.") for entry in log_of(api, organization)]
    return [name for name in reversed(named) if "." not in name]


def entry_of(api: Api, organization: Founded, platform: Running) -> tuple[object, object, object]:
    """What the organization's inventory says of a platform's domain."""
    items = api.items(f"{organization.path}/domains/inventory", as_=organization.owner)
    (item,) = [item for item in items if item["platformId"] == platform.id]
    return item["customDomain"], item["verificationStatus"], item["lastCheckedAt"]


class TestVerifyCustomDomain:
    def test_with_all_that_it_has_to_hold_it_is_verified(
        self, api: Api, organization: Founded, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        answer = verify(api, platform)
        assert answer.status == 200
        assert (answer.json["status"], answer.json["lastError"]) == ("verified", None)
        assert answer.json["verifiedAt"] == answer.json["lastCheckedAt"] == answer.json["updatedAt"]
        assert all(r["ok"] and r["observed"] == [r["expected"]] for r in answer.json["records"])
        assert entry_of(api, organization, platform) == (SHOP, "verified", answer.json["lastCheckedAt"])
        assert told(api, organization) == ["added", "verified"]
        guard = table.get(guard_key(CustomDomain.by_domain, {"domain": SHOP}))
        assert guard
        assert guard["ref"] == platform.id

    def test_without_anything_it_says_what_was_looked_for(
        self, api: Api, organization: Founded, platform: Running, claimed: Json
    ) -> None:
        answer = verify(api, platform).json
        assert (answer["status"], answer["lastError"], answer["verifiedAt"]) == ("pending", "TXT_NOT_FOUND", None)
        assert answer["records"] == claimed["records"]
        assert answer["lastCheckedAt"] == answer["updatedAt"]
        assert told(api, organization) == ["added", "checked"]

    def test_without_a_claim_there_is_nothing_to_verify(
        self, api: Api, platform: Running, nameserver: Nameserver
    ) -> None:
        refused = verify(api, platform)
        assert refused.code == "409 invalid_transition"
        assert "No domain is claimed" in refused.json["detail"]
        assert nameserver.questions == []

    @pytest.mark.parametrize("texts", [["atrium-verify=0"], ["v=spf1 -all", "x" * 400], [""]])
    def test_another_text_is_not_its_proof(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, texts: list[str]
    ) -> None:
        holds(nameserver, claimed)
        nameserver.says(PROOF, texts, of="TXT")
        answer = verify(api, platform).json
        assert answer["lastError"] == "TXT_MISMATCH"
        assert [record["ok"] for record in answer["records"]] == [False, True]
        assert all(len(text) <= 300 for text in answer["records"][0]["observed"])

    def test_its_proof_may_stand_among_others(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        proof = claimed["records"][0]["expected"]
        nameserver.says(PROOF, [*(f"other={n}" for n in range(30)), f" {proof} "], of="TXT")
        answer = verify(api, platform).json
        assert (answer["status"], len(answer["records"][0]["observed"])) == ("verified", 10)

    def test_the_proof_of_another_platform_is_none(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, other: Running
    ) -> None:
        holds(nameserver, claimed)
        theirs = claim(api, other)["records"][0]["expected"]
        nameserver.says(PROOF, [theirs], of="TXT")
        assert verify(api, platform).json["lastError"] == "TXT_MISMATCH"
        assert verify(api, other).json["status"] == "verified"

    def test_it_may_lead_here_by_several_names(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        links = [SHOP, "a.example.net", "b.example.net", TARGET.upper()]
        for link, next_link in pairwise(links):
            nameserver.says(link, [next_link], of="CNAME")
        answer = verify(api, platform).json
        assert answer["status"] == "verified"
        assert answer["records"][1]["observed"] == ["a.example.net", "b.example.net", TARGET]

    @pytest.mark.parametrize("where", [["elsewhere.example.net"], [SHOP]])
    def test_it_has_to_lead_here(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, where: list[str]
    ) -> None:
        holds(nameserver, claimed)
        nameserver.says(SHOP, where, of="CNAME")
        answer = verify(api, platform).json
        assert (answer["status"], answer["lastError"]) == ("pending", "CNAME_MISMATCH")
        assert answer["records"][1]["observed"][:1] == where
        assert len(answer["records"][1]["observed"]) <= 10

    def test_below_an_apex_addresses_of_the_service_will_do(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        nameserver.forgets(SHOP)
        nameserver.says(TARGET, OURS)
        for held, error in (([], "CNAME_MISMATCH"), (["203.0.113.9"], "CNAME_MISMATCH"), (OURS, None)):
            nameserver.says(SHOP, held)
            answer = verify(api, platform).json
            assert (answer["lastError"], answer["records"][1]["observed"]) == (error, held)

    def test_the_records_of_a_former_claim_are_no_others(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        claim(api, platform, "other.example.com")
        assert verify(api, platform).json["lastError"] == "TXT_NOT_FOUND"


class TestVerifyAnApex:
    @pytest.fixture
    def claimed(self, api: Api, platform: Running, nameserver: Nameserver) -> Json:
        claimed = claim(api, platform, "example.com")
        nameserver.says("_atrium-challenge.example.com", [claimed["records"][0]["expected"]], of="TXT")
        return claimed

    @pytest.mark.usefixtures("claimed")
    @pytest.mark.parametrize("held", [OURS, OURS[:1], OURS[1:]])
    def test_it_leads_here_by_addresses_of_what_an_alias_leads_to(
        self, api: Api, platform: Running, nameserver: Nameserver, held: list[str]
    ) -> None:
        nameserver.says(TARGET, OURS)
        nameserver.says("example.com", held)
        answer = verify(api, platform).json
        assert (answer["status"], answer["records"][1]["observed"]) == ("verified", held)

    @pytest.mark.usefixtures("claimed")
    def test_or_by_addresses_that_the_service_says(
        self, api: Api, platform: Running, nameserver: Nameserver, configure: Configure
    ) -> None:
        configure(platforms_addresses=",".join(OURS))
        nameserver.says("example.com", OURS[:1])
        answer = verify(api, platform).json
        assert answer["status"] == "verified"
        shown = [(record["type"], record["observed"], record["ok"]) for record in answer["records"][1:]]
        assert shown == [("A", OURS[:1], True), ("AAAA", [], True)]

    @pytest.mark.usefixtures("claimed")
    @pytest.mark.parametrize("held", [[], ["203.0.113.9"], [*OURS, "203.0.113.9"]])
    def test_it_has_to_lead_here_and_nowhere_else(
        self, api: Api, platform: Running, nameserver: Nameserver, held: list[str]
    ) -> None:
        nameserver.says(TARGET, OURS)
        nameserver.says("example.com", held)
        answer = verify(api, platform).json
        assert (answer["status"], answer["lastError"]) == ("pending", "APEX_NEEDS_A_OR_ALIAS")
        assert sorted(answer["records"][1]["observed"]) == sorted(held)

    @pytest.mark.usefixtures("claimed")
    def test_a_cname_will_not_do(self, api: Api, platform: Running, nameserver: Nameserver) -> None:
        nameserver.says(TARGET, OURS)
        nameserver.says("example.com", [TARGET], of="CNAME")
        answer = verify(api, platform).json
        assert (answer["lastError"], answer["records"][1]["observed"]) == ("APEX_NEEDS_A_OR_ALIAS", [TARGET])


class TestDnsThatDoesNotAnswer:
    @pytest.mark.usefixtures("brisk")
    @pytest.mark.parametrize("name", [PROOF, SHOP])
    @pytest.mark.parametrize(
        ("failure", "error"), [("SILENCE", "DNS_TIMEOUT"), ("SERVFAIL", "DNS_FAILURE"), ("REFUSED", "DNS_FAILURE")]
    )
    def test_is_said_and_says_nothing_of_the_domain(
        self, api: Api, verified: Running, nameserver: Nameserver, name: str, failure: Failure, error: str
    ) -> None:
        before = shown(api, verified)
        for kind in ("TXT", "CNAME"):
            nameserver.says(name, failure, of=kind)
        answer = verify(api, verified).json
        assert (answer["status"], answer["lastError"]) == ("verified", error)
        assert [answer[name] for name in ("verifiedAt", "records")] == [before["verifiedAt"], before["records"]]

    def test_keeps_nobody_waiting_for_long(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        assert claimed
        for kind in ("TXT", "CNAME", "A", "AAAA"):
            for name in (PROOF, SHOP, TARGET):
                nameserver.says(name, "SILENCE", of=kind)
        begun = monotonic()
        assert verify(api, platform).json["lastError"] == "DNS_TIMEOUT"
        assert monotonic() - begun < 4
        assert {name for name, _ in nameserver.questions} == {PROOF, SHOP, TARGET}

    @pytest.mark.usefixtures("brisk")
    def test_lets_nothing_lapse(
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


class TestADomainThatAnotherHasVerified:
    def test_shows_only_by_an_error(
        self, api: Api, organization: Founded, verified: Running, other: Running, nameserver: Nameserver
    ) -> None:
        theirs = claim(api, other)
        holds(nameserver, theirs)
        answer = verify(api, other).json
        assert (answer["status"], answer["lastError"]) == ("pending", "DOMAIN_TAKEN")
        assert all(record["ok"] for record in answer["records"])
        assert verified.id not in str(answer)
        assert told(api, organization) == ["added", "verified", "added", "checked"]

    @pytest.mark.parametrize("patience", [3, 0])
    def test_while_one_is_being_verified_is_the_others_however_long_dns_took(
        self,
        api: Api,
        platform: Running,
        other: Running,
        nameserver: Nameserver,
        monkeypatch: pytest.MonkeyPatch,
        patience: int,
    ) -> None:
        monkeypatch.setattr(pipeline, "_PATIENCE_SECONDS", patience)
        proofs = [claim(api, each)["records"][0]["expected"] for each in (platform, other)]
        nameserver.says(PROOF, proofs, of="TXT")
        nameserver.says(SHOP, [TARGET], of="CNAME")
        look = checks._is_anothers  # noqa: SLF001
        answers: list[Answer] = []

        def overtaken(custom: CustomDomain) -> bool:
            found = look(custom)
            if custom.id == platform.id and not answers:
                answers.append(verify(api, other))
            return found

        monkeypatch.setattr(checks, "_is_anothers", overtaken)
        answer = verify(api, platform)
        assert (answers[0].status, answers[0].json["status"]) == (200, "verified")
        assert (answer.status, answer.json["status"], answer.json["lastError"]) == (200, "pending", "DOMAIN_TAKEN")


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
        self, api: Api, organization: Founded, verified: Running, other: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        theirs = claim(api, other)
        nameserver.says(PROOF, [theirs["records"][0]["expected"]], of="TXT")
        pass_(hours=27)
        pass_(hours=71)
        assert [shown(api, verified)[name] for name in ("status", "lastError")] == ["verified", "TXT_MISMATCH"]
        assert verify(api, other).json["lastError"] == "DOMAIN_TAKEN"
        pass_(hours=2)
        lapsed = shown(api, verified)
        assert (lapsed["status"], lapsed["verifiedAt"]) == ("lapsed", None)
        assert entry_of(api, organization, verified)[:2] == (SHOP, "lapsed")
        assert verify(api, other).json["status"] == "verified"
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
        self, api: Api, platform: Running, other: Running, nameserver: Nameserver, pass_: Pass
    ) -> None:
        claim(api, other)
        api.delete(path(platform), as_=platform.owner)
        api.delete(other.path, as_=other.owner)
        pass_(minutes=2)
        assert nameserver.questions == []

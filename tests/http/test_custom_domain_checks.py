"""What a custom domain's DNS holds decides what becomes of it: when somebody asks."""

from itertools import pairwise
from time import monotonic

import pytest

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import dns_check
from chalicelib.kernel.execution import pipeline
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.conftest import Configure
from tests.harness.api import Answer, Api, Json
from tests.harness.domains import PROOF, SHOP, claim, entry_of, holds, shown, told, verify
from tests.harness.nameserver import Failure, Nameserver
from tests.harness.organizations import Founded
from tests.harness.platforms import Running

TARGET = "cname.atrium.example"
OURS = ["93.184.216.34", "2606:4700::1111"]

pytestmark = pytest.mark.usefixtures("nameserver")


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
        nameserver.says(PROOF, [*(f"elsewhere={n}" for n in range(30)), f" {proof} "], of="TXT")
        answer = verify(api, platform).json
        assert (answer["status"], len(answer["records"][0]["observed"])) == ("verified", 10)

    def test_the_proof_of_another_platform_is_none(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, elsewhere: Running
    ) -> None:
        holds(nameserver, claimed)
        theirs = claim(api, elsewhere)["records"][0]["expected"]
        nameserver.says(PROOF, [theirs], of="TXT")
        assert verify(api, platform).json["lastError"] == "TXT_MISMATCH"
        assert verify(api, elsewhere).json["status"] == "verified"

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
        for held, error in (([], "CNAME_MISMATCH"), (["93.184.215.14"], "CNAME_MISMATCH"), (OURS, None)):
            nameserver.says(SHOP, held)
            answer = verify(api, platform).json
            assert (answer["lastError"], answer["records"][1]["observed"]) == (error, held)

    def test_only_public_addresses_are_shown(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        nameserver.forgets(SHOP)
        nameserver.says(SHOP, ["10.1.2.3", "93.184.215.14", "169.254.169.254", "127.0.0.1", "fd00::7"])
        answer = verify(api, platform)
        assert answer.json["lastError"] == "CNAME_MISMATCH"
        # The local stage alone shows its loopback addresses.
        shown = ["an address that is not public", "93.184.215.14", "127.0.0.1"]
        assert sorted(answer.json["records"][1]["observed"]) == sorted(shown)
        assert "10.1.2.3" not in answer.text

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
    @pytest.mark.parametrize("held", [[], ["93.184.215.14"], [*OURS, "93.184.215.14"]])
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


class TestADomainThatAnotherHasVerified:
    def test_shows_only_by_an_error(
        self, api: Api, organization: Founded, verified: Running, elsewhere: Running, nameserver: Nameserver
    ) -> None:
        theirs = claim(api, elsewhere)
        holds(nameserver, theirs)
        answer = verify(api, elsewhere).json
        assert (answer["status"], answer["lastError"]) == ("pending", "DOMAIN_TAKEN")
        assert all(record["ok"] for record in answer["records"])
        assert verified.id not in str(answer)
        assert told(api, organization) == ["added", "verified", "added", "checked"]

    @pytest.mark.parametrize("patience", [3, 0])
    def test_while_one_is_being_verified_is_the_others_however_long_dns_took(
        self,
        api: Api,
        platform: Running,
        elsewhere: Running,
        nameserver: Nameserver,
        monkeypatch: pytest.MonkeyPatch,
        patience: int,
    ) -> None:
        monkeypatch.setattr(pipeline, "_MAX_WAIT_SECONDS", patience)
        proofs = [claim(api, each)["records"][0]["expected"] for each in (platform, elsewhere)]
        nameserver.says(PROOF, proofs, of="TXT")
        nameserver.says(SHOP, [TARGET], of="CNAME")
        look = dns_check._is_verified_elsewhere  # noqa: SLF001
        answers: list[Answer] = []

        def overtaken(custom: CustomDomain) -> bool:
            found = look(custom)
            if custom.id == platform.id and not answers:
                answers.append(verify(api, elsewhere))
            return found

        monkeypatch.setattr(dns_check, "_is_verified_elsewhere", overtaken)
        answer = verify(api, platform)
        assert (answers[0].status, answers[0].json["status"]) == (200, "verified")
        assert (answer.status, answer.json["status"], answer.json["lastError"]) == (200, "pending", "DOMAIN_TAKEN")

"""Checks of a custom domain's DNS that callers request."""

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
SERVICE_ADDRESSES = ["93.184.216.34", "2606:4700::1111"]

pytestmark = pytest.mark.usefixtures("nameserver")


class TestVerifyCustomDomain:
    def test_a_domain_with_all_records_is_verified(
        self, api: Api, organization: Founded, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        response = verify(api, platform)
        assert response.status == 200
        assert (response.json["status"], response.json["lastError"]) == ("verified", None)
        assert response.json["verifiedAt"] == response.json["lastCheckedAt"] == response.json["updatedAt"]
        assert all(r["ok"] and r["observed"] == [r["expected"]] for r in response.json["records"])
        assert entry_of(api, organization, platform) == (SHOP, "verified", response.json["lastCheckedAt"])
        assert told(api, organization) == ["added", "verified"]
        guard = table.get(guard_key(CustomDomain.by_domain, {"domain": SHOP}))
        assert guard
        assert guard["ref"] == platform.id

    def test_a_domain_without_records_stays_pending(
        self, api: Api, organization: Founded, platform: Running, claimed: Json
    ) -> None:
        response = verify(api, platform).json
        assert (response["status"], response["lastError"], response["verifiedAt"]) == ("pending", "TXT_NOT_FOUND", None)
        assert response["records"] == claimed["records"]
        assert response["lastCheckedAt"] == response["updatedAt"]
        assert told(api, organization) == ["added", "checked"]

    def test_a_platform_without_a_claimed_domain_has_nothing_to_verify(
        self, api: Api, platform: Running, nameserver: Nameserver
    ) -> None:
        rejected = verify(api, platform)
        assert rejected.code == "409 invalid_transition"
        assert "No domain is claimed" in rejected.json["detail"]
        assert nameserver.questions == []

    @pytest.mark.parametrize("texts", [["atrium-verify=0"], ["v=spf1 -all", "x" * 400], [""]])
    def test_other_txt_records_are_a_mismatch(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, texts: list[str]
    ) -> None:
        holds(nameserver, claimed)
        nameserver.says(PROOF, texts, of="TXT")
        response = verify(api, platform).json
        assert response["lastError"] == "TXT_MISMATCH"
        assert [record["ok"] for record in response["records"]] == [False, True]
        assert all(len(text) <= 300 for text in response["records"][0]["observed"])

    def test_the_proof_may_be_one_of_many_txt_records(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        proof = claimed["records"][0]["expected"]
        nameserver.says(PROOF, [*(f"elsewhere={n}" for n in range(30)), f" {proof} "], of="TXT")
        response = verify(api, platform).json
        assert (response["status"], len(response["records"][0]["observed"])) == ("verified", 10)

    def test_the_proof_of_another_platform_is_a_mismatch(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, elsewhere: Running
    ) -> None:
        holds(nameserver, claimed)
        proof_of_other = claim(api, elsewhere)["records"][0]["expected"]
        nameserver.says(PROOF, [proof_of_other], of="TXT")
        assert verify(api, platform).json["lastError"] == "TXT_MISMATCH"
        assert verify(api, elsewhere).json["status"] == "verified"

    def test_a_chain_of_cnames_is_followed(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        links = [SHOP, "a.example.net", "b.example.net", TARGET.upper()]
        for link, next_link in pairwise(links):
            nameserver.says(link, [next_link], of="CNAME")
        response = verify(api, platform).json
        assert response["status"] == "verified"
        assert response["records"][1]["observed"] == ["a.example.net", "b.example.net", TARGET]

    @pytest.mark.parametrize("targets", [["elsewhere.example.net"], [SHOP]])
    def test_another_cname_target_is_a_mismatch(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver, targets: list[str]
    ) -> None:
        holds(nameserver, claimed)
        nameserver.says(SHOP, targets, of="CNAME")
        response = verify(api, platform).json
        assert (response["status"], response["lastError"]) == ("pending", "CNAME_MISMATCH")
        assert response["records"][1]["observed"][:1] == targets
        assert len(response["records"][1]["observed"]) <= 10

    def test_a_subdomain_may_have_addresses_of_the_service(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        nameserver.forgets(SHOP)
        nameserver.says(TARGET, SERVICE_ADDRESSES)
        for addresses, error in (
            ([], "CNAME_MISMATCH"),
            (["93.184.215.14"], "CNAME_MISMATCH"),
            (SERVICE_ADDRESSES, None),
        ):
            nameserver.says(SHOP, addresses)
            response = verify(api, platform).json
            assert (response["lastError"], response["records"][1]["observed"]) == (error, addresses)

    def test_private_addresses_are_hidden(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        nameserver.forgets(SHOP)
        nameserver.says(SHOP, ["10.1.2.3", "93.184.215.14", "169.254.169.254", "127.0.0.1", "fd00::7"])
        response = verify(api, platform)
        assert response.json["lastError"] == "CNAME_MISMATCH"
        # Only the stage `local` shows its loopback addresses.
        observed = ["an address that is not public", "93.184.215.14", "127.0.0.1"]
        assert sorted(response.json["records"][1]["observed"]) == sorted(observed)
        assert "10.1.2.3" not in response.text

    def test_records_of_a_former_claim_do_not_count(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        holds(nameserver, claimed)
        claim(api, platform, "other.example.com")
        assert verify(api, platform).json["lastError"] == "TXT_NOT_FOUND"


class TestVerifyAnApex:
    @pytest.fixture
    def claimed_apex(self, api: Api, platform: Running, nameserver: Nameserver) -> Json:
        """The claim of an apex domain, whose proof is in DNS."""
        claimed = claim(api, platform, "example.com")
        nameserver.says("_atrium-challenge.example.com", [claimed["records"][0]["expected"]], of="TXT")
        return claimed

    @pytest.mark.usefixtures("claimed_apex")
    @pytest.mark.parametrize("addresses", [SERVICE_ADDRESSES, SERVICE_ADDRESSES[:1], SERVICE_ADDRESSES[1:]])
    def test_an_apex_may_have_the_addresses_of_the_alias_target(
        self, api: Api, platform: Running, nameserver: Nameserver, addresses: list[str]
    ) -> None:
        nameserver.says(TARGET, SERVICE_ADDRESSES)
        nameserver.says("example.com", addresses)
        response = verify(api, platform).json
        assert (response["status"], response["records"][1]["observed"]) == ("verified", addresses)

    @pytest.mark.usefixtures("claimed_apex")
    def test_an_apex_may_have_the_configured_addresses(
        self, api: Api, platform: Running, nameserver: Nameserver, configure: Configure
    ) -> None:
        configure(platforms_addresses=",".join(SERVICE_ADDRESSES))
        nameserver.says("example.com", SERVICE_ADDRESSES[:1])
        response = verify(api, platform).json
        assert response["status"] == "verified"
        observed = [(record["type"], record["observed"], record["ok"]) for record in response["records"][1:]]
        assert observed == [("A", SERVICE_ADDRESSES[:1], True), ("AAAA", [], True)]

    @pytest.mark.usefixtures("claimed_apex")
    @pytest.mark.parametrize("addresses", [[], ["93.184.215.14"], [*SERVICE_ADDRESSES, "93.184.215.14"]])
    def test_an_apex_with_other_addresses_is_rejected(
        self, api: Api, platform: Running, nameserver: Nameserver, addresses: list[str]
    ) -> None:
        nameserver.says(TARGET, SERVICE_ADDRESSES)
        nameserver.says("example.com", addresses)
        response = verify(api, platform).json
        assert (response["status"], response["lastError"]) == ("pending", "APEX_NEEDS_A_OR_ALIAS")
        assert sorted(response["records"][1]["observed"]) == sorted(addresses)

    @pytest.mark.usefixtures("claimed_apex")
    def test_an_apex_with_a_cname_is_rejected(self, api: Api, platform: Running, nameserver: Nameserver) -> None:
        nameserver.says(TARGET, SERVICE_ADDRESSES)
        nameserver.says("example.com", [TARGET], of="CNAME")
        response = verify(api, platform).json
        assert (response["lastError"], response["records"][1]["observed"]) == ("APEX_NEEDS_A_OR_ALIAS", [TARGET])


class TestDnsFailures:
    @pytest.mark.usefixtures("brisk")
    @pytest.mark.parametrize("name", [PROOF, SHOP])
    @pytest.mark.parametrize(
        ("failure", "error"), [("SILENCE", "DNS_TIMEOUT"), ("SERVFAIL", "DNS_FAILURE"), ("REFUSED", "DNS_FAILURE")]
    )
    def test_a_dns_failure_is_reported_and_the_domain_stays_verified(
        self, api: Api, verified: Running, nameserver: Nameserver, name: str, failure: Failure, error: str
    ) -> None:
        before = shown(api, verified)
        for record_type in ("TXT", "CNAME"):
            nameserver.says(name, failure, of=record_type)
        response = verify(api, verified).json
        assert (response["status"], response["lastError"]) == ("verified", error)
        assert [response[name] for name in ("verifiedAt", "records")] == [before["verifiedAt"], before["records"]]

    def test_a_check_ends_soon_without_dns(
        self, api: Api, platform: Running, claimed: Json, nameserver: Nameserver
    ) -> None:
        assert claimed
        for record_type in ("TXT", "CNAME", "A", "AAAA"):
            for name in (PROOF, SHOP, TARGET):
                nameserver.says(name, "SILENCE", of=record_type)
        started_at = monotonic()
        assert verify(api, platform).json["lastError"] == "DNS_TIMEOUT"
        assert monotonic() - started_at < 4
        assert {name for name, _ in nameserver.questions} == {PROOF, SHOP, TARGET}


class TestDomainOfAnotherPlatform:
    def test_a_taken_domain_is_reported_as_an_error(
        self, api: Api, organization: Founded, verified: Running, elsewhere: Running, nameserver: Nameserver
    ) -> None:
        second_claim = claim(api, elsewhere)
        holds(nameserver, second_claim)
        response = verify(api, elsewhere).json
        assert (response["status"], response["lastError"]) == ("pending", "DOMAIN_TAKEN")
        assert all(record["ok"] for record in response["records"])
        assert verified.id not in str(response)
        assert told(api, organization) == ["added", "verified", "added", "checked"]

    @pytest.mark.parametrize("max_wait_seconds", [3, 0])
    def test_the_first_of_two_concurrent_checks_gets_the_domain(
        self,
        api: Api,
        platform: Running,
        elsewhere: Running,
        nameserver: Nameserver,
        monkeypatch: pytest.MonkeyPatch,
        max_wait_seconds: int,
    ) -> None:
        monkeypatch.setattr(pipeline, "_MAX_WAIT_SECONDS", max_wait_seconds)
        proofs = [claim(api, each)["records"][0]["expected"] for each in (platform, elsewhere)]
        nameserver.says(PROOF, proofs, of="TXT")
        nameserver.says(SHOP, [TARGET], of="CNAME")
        is_verified_elsewhere = dns_check._is_verified_elsewhere  # noqa: SLF001
        responses: list[Answer] = []

        def verify_other_platform_meanwhile(custom: CustomDomain) -> bool:
            is_verified = is_verified_elsewhere(custom)
            if custom.id == platform.id and not responses:
                responses.append(verify(api, elsewhere))
            return is_verified

        monkeypatch.setattr(dns_check, "_is_verified_elsewhere", verify_other_platform_meanwhile)
        response = verify(api, platform)
        assert (responses[0].status, responses[0].json["status"]) == (200, "verified")
        assert (response.status, response.json["status"], response.json["lastError"]) == (
            200,
            "pending",
            "DOMAIN_TAKEN",
        )

"""Checks of a custom domain's DNS that callers request."""

from itertools import pairwise
from time import monotonic

import pytest

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic import dns_check
from chalicelib.kernel.execution import pipeline
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.harness.api import ApiClient, ApiResponse, Json
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
from tests.harness.nameserver import Nameserver
from tests.harness.platforms import CreatedPlatform

TARGET = "cname.atrium.example"
SERVICE_ADDRESSES = ["93.184.216.34", "2606:4700::1111"]

pytestmark = pytest.mark.usefixtures("nameserver")


class TestVerifyCustomDomain:
    def test_a_domain_with_all_records_is_verified(self, api, organization, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        response = verify_domain(api, platform)
        assert response.status == 200
        assert (response.json["status"], response.json["lastError"]) == ("verified", None)
        assert response.json["verifiedAt"] == response.json["lastCheckedAt"] == response.json["updatedAt"]
        assert all(r["ok"] and r["observed"] == [r["expected"]] for r in response.json["records"])
        assert inventory_entry(api, organization, platform) == (SHOP_DOMAIN, "verified", response.json["lastCheckedAt"])
        assert custom_domain_events(api, organization) == ["added", "verified"]
        guard = table.get(guard_key(CustomDomain.by_domain, {"domain": SHOP_DOMAIN}))
        assert guard
        assert guard["ref"] == platform.id

    def test_a_domain_without_records_stays_pending(self, api, organization, platform, claimed_domain):
        response = verify_domain(api, platform).json
        assert (response["status"], response["lastError"], response["verifiedAt"]) == ("pending", "TXT_NOT_FOUND", None)
        assert response["records"] == claimed_domain["records"]
        assert response["lastCheckedAt"] == response["updatedAt"]
        assert custom_domain_events(api, organization) == ["added", "checked"]

    def test_a_platform_without_a_claimed_domain_has_nothing_to_verify(self, api, platform, nameserver):
        rejected = verify_domain(api, platform)
        assert rejected.status_and_code == "409 invalid_transition"
        assert "No domain is claimed" in rejected.json["detail"]
        assert nameserver.questions == []

    @pytest.mark.parametrize("texts", [["atrium-verify=0"], ["v=spf1 -all", "x" * 400], [""]])
    def test_other_txt_records_are_a_mismatch(self, api, platform, claimed_domain, nameserver, texts):
        publish_dns_records(nameserver, claimed_domain)
        nameserver.set_replies(CHALLENGE_NAME, texts, record_type="TXT")
        response = verify_domain(api, platform).json
        assert response["lastError"] == "TXT_MISMATCH"
        assert [record["ok"] for record in response["records"]] == [False, True]
        assert all(len(text) <= 300 for text in response["records"][0]["observed"])

    def test_the_proof_may_be_one_of_many_txt_records(self, api, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        proof = claimed_domain["records"][0]["expected"]
        nameserver.set_replies(
            CHALLENGE_NAME, [*(f"elsewhere={n}" for n in range(30)), f" {proof} "], record_type="TXT"
        )
        response = verify_domain(api, platform).json
        assert (response["status"], len(response["records"][0]["observed"])) == ("verified", 10)

    def test_the_proof_of_another_platform_is_a_mismatch(
        self, api, platform, claimed_domain, nameserver, other_platform
    ):
        publish_dns_records(nameserver, claimed_domain)
        proof_of_other = claim_domain(api, other_platform)["records"][0]["expected"]
        nameserver.set_replies(CHALLENGE_NAME, [proof_of_other], record_type="TXT")
        assert verify_domain(api, platform).json["lastError"] == "TXT_MISMATCH"
        assert verify_domain(api, other_platform).json["status"] == "verified"

    def test_a_chain_of_cnames_is_followed(self, api, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        links = [SHOP_DOMAIN, "a.example.net", "b.example.net", TARGET.upper()]
        for link, next_link in pairwise(links):
            nameserver.set_replies(link, [next_link], record_type="CNAME")
        response = verify_domain(api, platform).json
        assert response["status"] == "verified"
        assert response["records"][1]["observed"] == ["a.example.net", "b.example.net", TARGET]

    @pytest.mark.parametrize("targets", [["elsewhere.example.net"], [SHOP_DOMAIN]])
    def test_another_cname_target_is_a_mismatch(self, api, platform, claimed_domain, nameserver, targets):
        publish_dns_records(nameserver, claimed_domain)
        nameserver.set_replies(SHOP_DOMAIN, targets, record_type="CNAME")
        response = verify_domain(api, platform).json
        assert (response["status"], response["lastError"]) == ("pending", "CNAME_MISMATCH")
        assert response["records"][1]["observed"][:1] == targets
        assert len(response["records"][1]["observed"]) <= 10

    def test_a_subdomain_may_have_addresses_of_the_service(self, api, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        nameserver.remove_name(SHOP_DOMAIN)
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)
        for addresses, error in (
            ([], "CNAME_MISMATCH"),
            (["93.184.215.14"], "CNAME_MISMATCH"),
            (SERVICE_ADDRESSES, None),
        ):
            nameserver.set_replies(SHOP_DOMAIN, addresses)
            response = verify_domain(api, platform).json
            assert (response["lastError"], response["records"][1]["observed"]) == (error, addresses)

    def test_private_addresses_are_hidden(self, api, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        nameserver.remove_name(SHOP_DOMAIN)
        nameserver.set_replies(SHOP_DOMAIN, ["10.1.2.3", "93.184.215.14", "169.254.169.254", "127.0.0.1", "fd00::7"])
        response = verify_domain(api, platform)
        assert response.json["lastError"] == "CNAME_MISMATCH"
        # Only the stage `local` shows its loopback addresses.
        observed = ["an address that is not public", "93.184.215.14", "127.0.0.1"]
        assert sorted(response.json["records"][1]["observed"]) == sorted(observed)
        assert "10.1.2.3" not in response.text

    def test_records_of_a_former_claim_do_not_count(self, api, platform, claimed_domain, nameserver):
        publish_dns_records(nameserver, claimed_domain)
        claim_domain(api, platform, "other.example.com")
        assert verify_domain(api, platform).json["lastError"] == "TXT_NOT_FOUND"


class TestVerifyAnApex:
    @pytest.fixture
    def claimed_apex(self, api: ApiClient, platform: CreatedPlatform, nameserver: Nameserver) -> Json:
        """The claim of an apex domain, whose proof is in DNS."""
        claimed = claim_domain(api, platform, "example.com")
        nameserver.set_replies("_atrium-challenge.example.com", [claimed["records"][0]["expected"]], record_type="TXT")
        return claimed

    @pytest.mark.usefixtures("claimed_apex")
    @pytest.mark.parametrize("addresses", [SERVICE_ADDRESSES, SERVICE_ADDRESSES[:1], SERVICE_ADDRESSES[1:]])
    def test_an_apex_may_have_the_addresses_of_the_alias_target(self, api, platform, nameserver, addresses):
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)
        nameserver.set_replies("example.com", addresses)
        response = verify_domain(api, platform).json
        assert (response["status"], response["records"][1]["observed"]) == ("verified", addresses)

    @pytest.mark.usefixtures("claimed_apex")
    def test_an_apex_may_have_the_configured_addresses(self, api, platform, nameserver, configure):
        configure(platforms_addresses=",".join(SERVICE_ADDRESSES))
        nameserver.set_replies("example.com", SERVICE_ADDRESSES[:1])
        response = verify_domain(api, platform).json
        assert response["status"] == "verified"
        observed = [(record["type"], record["observed"], record["ok"]) for record in response["records"][1:]]
        assert observed == [("A", SERVICE_ADDRESSES[:1], True), ("AAAA", [], True)]

    @pytest.mark.usefixtures("claimed_apex")
    @pytest.mark.parametrize("addresses", [[], ["93.184.215.14"], [*SERVICE_ADDRESSES, "93.184.215.14"]])
    def test_an_apex_with_other_addresses_is_rejected(self, api, platform, nameserver, addresses):
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)
        nameserver.set_replies("example.com", addresses)
        response = verify_domain(api, platform).json
        assert (response["status"], response["lastError"]) == ("pending", "APEX_NEEDS_A_OR_ALIAS")
        assert sorted(response["records"][1]["observed"]) == sorted(addresses)

    @pytest.mark.usefixtures("claimed_apex")
    def test_an_apex_with_a_cname_is_rejected(self, api, platform, nameserver):
        nameserver.set_replies(TARGET, SERVICE_ADDRESSES)
        nameserver.set_replies("example.com", [TARGET], record_type="CNAME")
        response = verify_domain(api, platform).json
        assert (response["lastError"], response["records"][1]["observed"]) == ("APEX_NEEDS_A_OR_ALIAS", [TARGET])


class TestDnsFailures:
    @pytest.mark.usefixtures("short_webhook_timeout")
    @pytest.mark.parametrize("name", [CHALLENGE_NAME, SHOP_DOMAIN])
    @pytest.mark.parametrize(
        ("failure", "error"), [("SILENCE", "DNS_TIMEOUT"), ("SERVFAIL", "DNS_FAILURE"), ("REFUSED", "DNS_FAILURE")]
    )
    def test_a_dns_failure_is_reported_and_the_domain_stays_verified(
        self, api, verified_platform, nameserver, name, failure, error
    ):
        before = get_custom_domain(api, verified_platform)
        for record_type in ("TXT", "CNAME"):
            nameserver.set_replies(name, failure, record_type=record_type)
        response = verify_domain(api, verified_platform).json
        assert (response["status"], response["lastError"]) == ("verified", error)
        assert [response[name] for name in ("verifiedAt", "records")] == [before["verifiedAt"], before["records"]]

    def test_a_check_ends_soon_without_dns(self, api, platform, claimed_domain, nameserver):
        assert claimed_domain
        for record_type in ("TXT", "CNAME", "A", "AAAA"):
            for name in (CHALLENGE_NAME, SHOP_DOMAIN, TARGET):
                nameserver.set_replies(name, "SILENCE", record_type=record_type)
        started_at = monotonic()
        assert verify_domain(api, platform).json["lastError"] == "DNS_TIMEOUT"
        assert monotonic() - started_at < 5.5  # One query after the other would take 6 s.
        assert {name for name, _ in nameserver.questions} == {CHALLENGE_NAME, SHOP_DOMAIN, TARGET}


class TestDomainOfAnotherPlatform:
    def test_a_taken_domain_is_reported_as_an_error(
        self, api, organization, verified_platform, other_platform, nameserver
    ):
        second_claim = claim_domain(api, other_platform)
        publish_dns_records(nameserver, second_claim)
        response = verify_domain(api, other_platform).json
        assert (response["status"], response["lastError"]) == ("pending", "DOMAIN_TAKEN")
        assert all(record["ok"] for record in response["records"])
        assert verified_platform.id not in str(response)
        assert custom_domain_events(api, organization) == ["added", "verified", "added", "checked"]

    @pytest.mark.parametrize("max_wait_seconds", [3, 0])
    def test_the_first_of_two_concurrent_checks_gets_the_domain(
        self, api, platform, other_platform, nameserver, monkeypatch, max_wait_seconds
    ):
        monkeypatch.setattr(pipeline, "_MAX_WAIT_SECONDS", max_wait_seconds)
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
        response = verify_domain(api, platform)
        assert (responses[0].status, responses[0].json["status"]) == (200, "verified")
        assert (response.status, response.json["status"], response.json["lastError"]) == (
            200,
            "pending",
            "DOMAIN_TAKEN",
        )

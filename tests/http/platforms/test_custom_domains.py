"""Custom domains of platforms: claim, get and remove. Their DNS checks have tests of their own."""

from typing import Final

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.domains import (
    CHALLENGE_NAME,
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    get_custom_domain,
    publish_dns_records,
    verify_domain,
)
from tests.harness.platforms import PlatformClient

PATH: Final = "/custom-domain"
NO_DOMAIN: Final[Json] = {
    "domain": None,
    "status": "none",
    "records": [],
    "verifiedAt": None,
    "lastCheckedAt": None,
    "lastError": None,
}


def post_domain(platform: PlatformClient, domain: object) -> ApiResponse:
    return platform.post(PATH, {"domain": domain})


def test_a_new_platform_has_no_domain(platform):
    record = {name: platform.record[name] for name in ("id", "createdAt")}
    expected = {**record, "updatedAt": record["createdAt"], "version": 1, **NO_DOMAIN}
    assert platform.get(PATH).json == expected


class TestSetCustomDomain:
    def test_the_response_lists_the_expected_dns_records(self, platform, mary):
        response = post_domain(platform, SHOP_DOMAIN)
        assert (response.status, response.location) == (201, f"{platform.path}{PATH}")
        proof = response.json["records"][0]["expected"]
        assert proof.startswith("atrium-verify=")
        assert len(proof.removeprefix("atrium-verify=")) == 32
        ownership = {"purpose": "ownership", "type": "TXT", "name": CHALLENGE_NAME, "expected": proof}
        ownership["relativeName"] = "_atrium-challenge.shop"
        routing = {"purpose": "routing", "type": "CNAME", "name": SHOP_DOMAIN, "expected": "cname.atrium.example"}
        routing["relativeName"] = "shop"
        records = [{**record, "observed": [], "ok": False} for record in (ownership, routing)]
        expected = {**NO_DOMAIN, "domain": SHOP_DOMAIN, "status": "pending", "records": records}
        assert {name: response.json[name] for name in NO_DOMAIN} == expected
        assert platform.get(PATH, caller=mary).json == response.json

    def test_an_apex_needs_the_addresses_of_the_service(self, api, platform, configure):
        configure(platforms_addresses="192.0.2.7,2001:db8::7")
        routes = claim_domain(api, platform, "example.co.uk")["records"][1:]
        assert [(route["type"], route["relativeName"], route["expected"]) for route in routes] == [
            ("A", "@", "192.0.2.7"),
            ("AAAA", "@", "2001:db8::7"),
        ]

    def test_an_apex_needs_an_alias_if_the_service_has_no_fixed_addresses(self, api, platform):
        proof, route = claim_domain(api, platform, "example.com")["records"]
        assert (route["type"], route["name"], route["relativeName"]) == ("ALIAS", "example.com", "@")
        assert route["expected"] == "cname.atrium.example"
        assert proof["relativeName"] == "_atrium-challenge"

    def test_the_domain_is_normalized(self, api, platform):
        for entered, domain in (
            ("  Shop.Example.COM. ", SHOP_DOMAIN),
            ("Bücher.example.com", "xn--bcher-kva.example.com"),
            ("me.github.io", "me.github.io"),
            ("XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"),
        ):
            assert claim_domain(api, platform, entered)["domain"] == domain

    @pytest.mark.parametrize(
        ("code", "domains"),
        [
            ("required", [None]),
            ("wrong_type", [7, [SHOP_DOMAIN]]),
            ("too_short", [""]),
            ("too_long", ["a." * 600]),
            ("malformed", ["192.0.2.7", "2001:db8::7", "com", "co.uk", "github.io", "localhost", "shop"]),
            ("malformed", ["*.example.com", "https://shop.example.com", "shop.example.com:443", "a_b.example"]),
            ("malformed", ["db.prod.internal", "nas.home.arpa", "printer.corp.local", "shop.corp", "shop.test"]),
            ("malformed", ["shop.onion", "engines.atrium.example", "atrium.example", ".".join(["a" * 60] * 4)]),
        ],
    )
    def test_domains_that_cannot_be_claimed_are_rejected(self, platform, code, domains):
        for domain in domains:
            response = post_domain(platform, domain)
            assert (response.status_and_code, response.errors) == ("422 validation_failed", {"/domain": code}), domain
        assert platform.get(PATH).json["status"] == "none"

    def test_domains_of_the_service_cannot_be_claimed(self, platform, configure):
        configure(platforms_domain="platforms.example.net", public_url="https://api.example.org/v1")
        for host in ("platforms.example.net", "api.example.org"):
            for domain in (host, f"x.{host}"):
                response = post_domain(platform, domain)
                assert response.errors == {"/domain": "malformed"}
                assert "belongs to the service" in response.json["errors"][0]["detail"]

    def test_another_claim_replaces_an_unverified_domain_and_a_repeated_one_does_not(self, api, organization, platform):
        first = claim_domain(api, platform)
        repeated = post_domain(platform, SHOP_DOMAIN.upper())
        assert (repeated.status, repeated.json) == (200, first)
        assert custom_domain_events(api, organization) == ["added"]
        second = claim_domain(api, platform, "other.example.com")
        assert (second["domain"], second["status"], second["version"]) == ("other.example.com", "pending", 3)
        assert second["records"][0]["expected"] != first["records"][0]["expected"]
        newest = list_entries(api, organization)[0]
        assert (newest["type"], newest["target"]["name"]) == ("platform.custom_domain.added", "other.example.com")
        assert newest["changes"] == [{"field": "domain", "from": SHOP_DOMAIN, "to": "other.example.com"}]

    def test_a_verified_domain_is_not_replaced(self, verified_platform):
        before = verified_platform.get(PATH).json
        rejected = post_domain(verified_platform, "other.example.com")
        assert (rejected.status_and_code, rejected.errors) == ("409 already_exists", {"/domain": "already_exists"})
        assert f"{SHOP_DOMAIN} is verified. Remove it first" in rejected.json["detail"]
        repeated = post_domain(verified_platform, SHOP_DOMAIN)
        assert (repeated.status, repeated.json) == (200, before)

    def test_the_proof_is_the_same_for_each_claim_of_a_platform_and_differs_between_platforms(
        self, api, platform, other_platform
    ):
        first = claim_domain(api, platform)["records"]
        platform.delete(PATH)
        assert claim_domain(api, platform)["records"] == first
        assert claim_domain(api, other_platform)["records"][0]["expected"] != first[0]["expected"]


class TestRemoveCustomDomain:
    def test_the_domain_is_removed_once(self, api, organization, platform):
        claim_domain(api, platform)
        assert platform.delete(PATH).status == 204
        current = get_custom_domain(api, platform)
        assert {name: current[name] for name in NO_DOMAIN} == NO_DOMAIN
        assert list_entries(api, organization)[0]["changes"] == [
            {"field": "domain", "from": SHOP_DOMAIN, "to": None},
            {"field": "status", "from": "pending", "to": "none"},
        ]
        assert platform.delete(PATH).status == 204
        assert custom_domain_events(api, organization) == ["added", "removed"]

    @pytest.mark.parametrize("removed_path", [PATH, ""])
    def test_a_removed_domain_and_that_of_a_deleted_platform_are_free_at_once(
        self, api, organization, verified_platform, other_platform, nameserver, removed_path
    ):
        publish_dns_records(nameserver, claim_domain(api, other_platform))
        assert verify_domain(api, other_platform).json["lastError"] == "DOMAIN_TAKEN"
        assert verified_platform.delete(removed_path).status == 204
        assert verify_domain(api, other_platform).json["status"] == "verified"
        assert custom_domain_events(api, organization)[-1] == "verified"
        assert verified_platform.get(PATH).status == (200 if removed_path else 404)

"""Custom domains of platforms: claim, get and remove. Their DNS checks have tests of their own."""

from typing import Final

import pytest

from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.domains import (
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    custom_domain_path,
    get_custom_domain,
    publish_dns_records,
    verify_domain,
)
from tests.harness.organizations import create_api_key
from tests.harness.platforms import create_platform

NO_DOMAIN: Final[Json] = {
    "domain": None,
    "status": "none",
    "records": [],
    "verifiedAt": None,
    "lastCheckedAt": None,
    "lastError": None,
}


class TestGetCustomDomain:
    def test_a_new_platform_has_no_domain(self, api, platform):
        response = get_custom_domain(api, platform)
        service_domain = {name: platform.record[name] for name in ("id", "createdAt")}
        assert response == {**service_domain, "updatedAt": service_domain["createdAt"], "version": 1, **NO_DOMAIN}

    def test_members_see_the_expected_dns_records(self, api, platform, mary):
        claimed = claim_domain(api, platform)
        assert api.get(custom_domain_path(platform), caller=mary).json == claimed

    def test_strangers_get_not_found(self, api, platform, stranger):
        assert api.get(custom_domain_path(platform), caller=stranger).status_and_code == "404 not_found"
        assert api.get(custom_domain_path(platform)).status_and_code == "401 unauthenticated"

    def test_a_key_needs_a_domains_scope_or_a_general_one(self, api, organization, platform):
        for scope in ("domains:read", "domains:write", "read"):
            assert api.get(custom_domain_path(platform), caller=create_api_key(api, organization, scope)).status == 200
        platforms_key = create_api_key(api, organization, "platforms:read")
        assert api.get(custom_domain_path(platform), caller=platforms_key).status_and_code == "403 insufficient_scope"


class TestSetCustomDomain:
    def test_the_response_lists_the_expected_dns_records(self, api, platform):
        response = api.post(custom_domain_path(platform), caller=platform.owner, json={"domain": SHOP_DOMAIN})
        assert (response.status, response.location) == (201, custom_domain_path(platform))
        claimed_domain = response.json
        proof = claimed_domain["records"][0]["expected"]
        assert proof.startswith("atrium-verify=")
        assert len(proof.removeprefix("atrium-verify=")) == 32
        assert {name: claimed_domain[name] for name in NO_DOMAIN} == {
            **NO_DOMAIN,
            "domain": SHOP_DOMAIN,
            "status": "pending",
            "records": [
                {
                    "purpose": "ownership",
                    "type": "TXT",
                    "name": f"_atrium-challenge.{SHOP_DOMAIN}",
                    "relativeName": "_atrium-challenge.shop",
                    "expected": proof,
                    "observed": [],
                    "ok": False,
                },
                {
                    "purpose": "routing",
                    "type": "CNAME",
                    "name": SHOP_DOMAIN,
                    "relativeName": "shop",
                    "expected": "cname.atrium.example",
                    "observed": [],
                    "ok": False,
                },
            ],
        }
        assert get_custom_domain(api, platform) == claimed_domain

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

    @pytest.mark.parametrize(
        ("entered", "domain"),
        [
            ("  Shop.Example.COM. ", SHOP_DOMAIN),
            ("Bücher.example.com", "xn--bcher-kva.example.com"),
            ("XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"),
            ("me.github.io", "me.github.io"),
        ],
    )
    def test_the_domain_is_normalized(self, api, platform, entered, domain):
        assert claim_domain(api, platform, entered)["domain"] == domain

    @pytest.mark.parametrize(
        ("domain", "code"),
        [
            ("", "too_short"),
            (None, "required"),
            (7, "wrong_type"),
            ([SHOP_DOMAIN], "wrong_type"),
            ("192.0.2.7", "malformed"),
            ("2001:db8::7", "malformed"),
            ("com", "malformed"),
            ("co.uk", "malformed"),
            ("github.io", "malformed"),
            ("localhost", "malformed"),
            ("shop", "malformed"),
            ("*.example.com", "malformed"),
            ("https://shop.example.com", "malformed"),
            ("shop.example.com:443", "malformed"),
            ("a_b.example", "malformed"),
            ("db.prod.internal", "malformed"),
            ("nas.home.arpa", "malformed"),
            ("printer.corp.local", "malformed"),
            ("shop.corp", "malformed"),
            ("shop.test", "malformed"),
            ("shop.onion", "malformed"),
            ("engines.atrium.example", "malformed"),
            ("atrium.example", "malformed"),
            ("a." * 600, "too_long"),
            (".".join(["a" * 60] * 4), "malformed"),
        ],
    )
    def test_a_domain_that_cannot_be_claimed_is_rejected(self, api, platform, domain, code):
        response = api.post(custom_domain_path(platform), caller=platform.owner, json={"domain": domain})
        assert (response.status_and_code, response.errors) == ("422 validation_failed", {"/domain": code})
        assert get_custom_domain(api, platform)["status"] == "none"

    def test_domains_of_the_service_cannot_be_claimed(self, api, platform, configure):
        configure(platforms_domain="platforms.example.net", public_url="https://api.example.org/v1")
        for service_domain in (
            "platforms.example.net",
            "engines.platforms.example.net",
            "api.example.org",
            "v2.api.example.org",
        ):
            response = api.post(custom_domain_path(platform), caller=platform.owner, json={"domain": service_domain})
            assert response.errors == {"/domain": "malformed"}
            assert "belongs to the service" in response.json["errors"][0]["detail"]

    def test_a_repeated_claim_returns_the_current_claim(self, api, organization, platform):
        claimed = claim_domain(api, platform)
        repeated = api.post(custom_domain_path(platform), caller=platform.owner, json={"domain": SHOP_DOMAIN.upper()})
        assert (repeated.status, repeated.json) == (200, claimed)
        assert custom_domain_events(api, organization) == ["added"]

    def test_another_claim_replaces_an_unverified_domain(self, api, organization, platform):
        first, second = claim_domain(api, platform), claim_domain(api, platform, "other.example.com")
        assert (second["domain"], second["status"], second["version"]) == ("other.example.com", "pending", 3)
        assert second["records"][0]["expected"] != first["records"][0]["expected"]
        newest = list_entries(api, organization)[0]
        assert (newest["type"], newest["target"]["name"]) == ("platform.custom_domain.added", "other.example.com")
        assert newest["changes"] == [{"field": "domain", "from": SHOP_DOMAIN, "to": "other.example.com"}]

    def test_a_verified_domain_is_not_replaced(self, api, verified_platform):
        before = get_custom_domain(api, verified_platform)
        rejected = api.post(
            custom_domain_path(verified_platform), caller=verified_platform.owner, json={"domain": "other.example.com"}
        )
        assert (rejected.status_and_code, rejected.errors) == ("409 already_exists", {"/domain": "already_exists"})
        assert f"{SHOP_DOMAIN} is verified. Remove it first" in rejected.json["detail"]
        repeated = api.post(
            custom_domain_path(verified_platform), caller=verified_platform.owner, json={"domain": SHOP_DOMAIN}
        )
        assert (repeated.status, repeated.json) == (200, before)

    def test_the_proof_is_the_same_for_each_claim_of_a_platform_and_differs_between_platforms(
        self, api, organization, platform
    ):
        first = claim_domain(api, platform)["records"]
        api.delete(custom_domain_path(platform), caller=platform.owner)
        assert claim_domain(api, platform)["records"] == first
        records_of_other = claim_domain(api, create_platform(api, organization))["records"]
        assert records_of_other[0]["expected"] != first[0]["expected"]

    def test_only_admins_and_keys_with_the_scope_may_claim(self, api, organization, platform, grace, edith, stranger):
        body = {"domain": SHOP_DOMAIN}
        assert (
            api.post(custom_domain_path(platform), caller=edith, json=body).status_and_code == "403 insufficient_role"
        )
        assert api.post(custom_domain_path(platform), caller=stranger, json=body).status_and_code == "404 not_found"
        writer_key = create_api_key(api, organization, "write")
        assert (
            api.post(custom_domain_path(platform), caller=writer_key, json=body).status_and_code
            == "403 insufficient_scope"
        )
        assert (
            api.post(
                custom_domain_path(platform), caller=create_api_key(api, organization, "domains:write"), json=body
            ).status
            == 201
        )
        assert api.post(custom_domain_path(platform), caller=grace, json={"domain": "other.example.com"}).status == 201


class TestRemoveCustomDomain:
    def test_the_domain_is_removed(self, api, organization, platform):
        claim_domain(api, platform)
        assert api.delete(custom_domain_path(platform), caller=platform.owner).status == 204
        current = get_custom_domain(api, platform)
        assert {name: current[name] for name in NO_DOMAIN} == NO_DOMAIN
        assert list_entries(api, organization)[0]["changes"] == [
            {"field": "domain", "from": SHOP_DOMAIN, "to": None},
            {"field": "status", "from": "pending", "to": "none"},
        ]

    def test_removing_no_domain_changes_nothing(self, api, organization, platform):
        assert api.delete(custom_domain_path(platform), caller=platform.owner).status == 204
        assert custom_domain_events(api, organization) == []

    def test_a_removed_domain_is_free_at_once(self, api, organization, verified_platform, nameserver):
        other_platform = create_platform(api, organization)
        publish_dns_records(nameserver, claim_domain(api, other_platform))
        assert verify_domain(api, other_platform).json["lastError"] == "DOMAIN_TAKEN"
        api.delete(custom_domain_path(verified_platform), caller=verified_platform.owner)
        assert verify_domain(api, other_platform).json["status"] == "verified"
        assert custom_domain_events(api, organization)[-2:] == ["removed", "verified"]

    def test_the_domain_of_a_deleted_platform_is_free_at_once(self, api, organization, verified_platform, nameserver):
        assert api.delete(verified_platform.path, caller=verified_platform.owner).status == 204
        other_platform = create_platform(api, organization)
        publish_dns_records(nameserver, claim_domain(api, other_platform))
        assert verify_domain(api, other_platform).json["status"] == "verified"
        assert (
            api.get(custom_domain_path(verified_platform), caller=verified_platform.owner).status_and_code
            == "404 not_found"
        )

    def test_a_stale_etag_removes_no_domain(self, api, platform):
        stale = api.get(custom_domain_path(platform), caller=platform.owner).etag
        claimed = claim_domain(api, platform)
        rejected = api.delete(custom_domain_path(platform), caller=platform.owner, headers={"If-Match": stale})
        assert rejected.status_and_code == "412 precondition_failed"
        assert get_custom_domain(api, platform) == claimed

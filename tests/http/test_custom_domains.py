"""Custom domains of platforms: claim, get and remove. Their DNS checks have tests of their own."""

from typing import Final

import pytest

from tests.conftest import Configure
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.domains import SHOP, claim, holds, path, shown, told, verify
from tests.harness.logs import log_of
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Running, run_platform

NO_DOMAIN: Final[Json] = {
    "domain": None,
    "status": "none",
    "records": [],
    "verifiedAt": None,
    "lastCheckedAt": None,
    "lastError": None,
}


class TestGetCustomDomain:
    def test_a_new_platform_has_no_domain(self, api: Api, platform: Running) -> None:
        response = shown(api, platform)
        service_domain = {name: platform.record[name] for name in ("id", "createdAt")}
        assert response == {**service_domain, "updatedAt": service_domain["createdAt"], "version": 1, **NO_DOMAIN}

    def test_members_see_the_expected_dns_records(self, api: Api, platform: Running, mary: Person) -> None:
        claimed = claim(api, platform)
        assert api.get(path(platform), as_=mary).json == claimed

    def test_strangers_get_not_found(self, api: Api, platform: Running, stranger: Person) -> None:
        assert api.get(path(platform), as_=stranger).code == "404 not_found"
        assert api.get(path(platform)).code == "401 unauthenticated"

    def test_a_key_needs_a_domains_scope_or_a_general_one(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        for scope in ("domains:read", "domains:write", "read"):
            assert api.get(path(platform), as_=make_key(api, organization, scope)).status == 200
        platforms_key = make_key(api, organization, "platforms:read")
        assert api.get(path(platform), as_=platforms_key).code == "403 insufficient_scope"


class TestSetCustomDomain:
    def test_the_response_lists_the_expected_dns_records(self, api: Api, platform: Running) -> None:
        response = api.post(path(platform), as_=platform.owner, json={"domain": SHOP})
        assert (response.status, response.location) == (201, path(platform))
        claimed_domain = response.json
        proof = claimed_domain["records"][0]["expected"]
        assert proof.startswith("atrium-verify=")
        assert len(proof.removeprefix("atrium-verify=")) == 32
        assert {name: claimed_domain[name] for name in NO_DOMAIN} == {
            **NO_DOMAIN,
            "domain": SHOP,
            "status": "pending",
            "records": [
                {
                    "purpose": "ownership",
                    "type": "TXT",
                    "name": f"_atrium-challenge.{SHOP}",
                    "relativeName": "_atrium-challenge.shop",
                    "expected": proof,
                    "observed": [],
                    "ok": False,
                },
                {
                    "purpose": "routing",
                    "type": "CNAME",
                    "name": SHOP,
                    "relativeName": "shop",
                    "expected": "cname.atrium.example",
                    "observed": [],
                    "ok": False,
                },
            ],
        }
        assert shown(api, platform) == claimed_domain

    def test_an_apex_needs_the_addresses_of_the_service(
        self, api: Api, platform: Running, configure: Configure
    ) -> None:
        configure(platforms_addresses="192.0.2.7,2001:db8::7")
        routes = claim(api, platform, "example.co.uk")["records"][1:]
        assert [(route["type"], route["relativeName"], route["expected"]) for route in routes] == [
            ("A", "@", "192.0.2.7"),
            ("AAAA", "@", "2001:db8::7"),
        ]

    def test_an_apex_needs_an_alias_if_the_service_has_no_fixed_addresses(self, api: Api, platform: Running) -> None:
        proof, route = claim(api, platform, "example.com")["records"]
        assert (route["type"], route["name"], route["relativeName"]) == ("ALIAS", "example.com", "@")
        assert route["expected"] == "cname.atrium.example"
        assert proof["relativeName"] == "_atrium-challenge"

    @pytest.mark.parametrize(
        ("entered", "domain"),
        [
            ("  Shop.Example.COM. ", SHOP),
            ("Bücher.example.com", "xn--bcher-kva.example.com"),
            ("XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"),
            ("me.github.io", "me.github.io"),
        ],
    )
    def test_the_domain_is_normalized(self, api: Api, platform: Running, entered: str, domain: str) -> None:
        assert claim(api, platform, entered)["domain"] == domain

    @pytest.mark.parametrize(
        ("domain", "code"),
        [
            ("", "too_short"),
            (None, "required"),
            (7, "wrong_type"),
            ([SHOP], "wrong_type"),
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
    def test_a_domain_that_cannot_be_claimed_is_rejected(
        self, api: Api, platform: Running, domain: object, code: str
    ) -> None:
        response = api.post(path(platform), as_=platform.owner, json={"domain": domain})
        assert (response.code, response.faults) == ("422 validation_failed", {"/domain": code})
        assert shown(api, platform)["status"] == "none"

    def test_domains_of_the_service_cannot_be_claimed(self, api: Api, platform: Running, configure: Configure) -> None:
        configure(platforms_domain="platforms.example.net", public_url="https://api.example.org/v1")
        for service_domain in (
            "platforms.example.net",
            "engines.platforms.example.net",
            "api.example.org",
            "v2.api.example.org",
        ):
            response = api.post(path(platform), as_=platform.owner, json={"domain": service_domain})
            assert response.faults == {"/domain": "malformed"}
            assert "belongs to the service" in response.json["errors"][0]["detail"]

    def test_a_repeated_claim_returns_the_current_claim(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        claimed = claim(api, platform)
        repeated = api.post(path(platform), as_=platform.owner, json={"domain": SHOP.upper()})
        assert (repeated.status, repeated.json) == (200, claimed)
        assert told(api, organization) == ["added"]

    def test_another_claim_replaces_an_unverified_domain(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        first, second = claim(api, platform), claim(api, platform, "other.example.com")
        assert (second["domain"], second["status"], second["version"]) == ("other.example.com", "pending", 3)
        assert second["records"][0]["expected"] != first["records"][0]["expected"]
        newest = log_of(api, organization)[0]
        assert (newest["type"], newest["target"]["name"]) == ("platform.custom_domain.added", "other.example.com")
        assert newest["changes"] == [{"field": "domain", "from": SHOP, "to": "other.example.com"}]

    def test_a_verified_domain_is_not_replaced(self, api: Api, verified: Running) -> None:
        before = shown(api, verified)
        rejected = api.post(path(verified), as_=verified.owner, json={"domain": "other.example.com"})
        assert (rejected.code, rejected.faults) == ("409 already_exists", {"/domain": "already_exists"})
        assert f"{SHOP} is verified. Remove it first" in rejected.json["detail"]
        repeated = api.post(path(verified), as_=verified.owner, json={"domain": SHOP})
        assert (repeated.status, repeated.json) == (200, before)

    def test_the_proof_is_the_same_for_each_claim_of_a_platform_and_differs_between_platforms(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        first = claim(api, platform)["records"]
        api.delete(path(platform), as_=platform.owner)
        assert claim(api, platform)["records"] == first
        records_of_other = claim(api, run_platform(api, organization))["records"]
        assert records_of_other[0]["expected"] != first[0]["expected"]

    def test_only_admins_and_keys_with_the_scope_may_claim(
        self, api: Api, organization: Founded, platform: Running, grace: Person, edith: Person, stranger: Person
    ) -> None:
        body = {"domain": SHOP}
        assert api.post(path(platform), as_=edith, json=body).code == "403 insufficient_role"
        assert api.post(path(platform), as_=stranger, json=body).code == "404 not_found"
        writer_key = make_key(api, organization, "write")
        assert api.post(path(platform), as_=writer_key, json=body).code == "403 insufficient_scope"
        assert api.post(path(platform), as_=make_key(api, organization, "domains:write"), json=body).status == 201
        assert api.post(path(platform), as_=grace, json={"domain": "other.example.com"}).status == 201


class TestRemoveCustomDomain:
    def test_the_domain_is_removed(self, api: Api, organization: Founded, platform: Running) -> None:
        claim(api, platform)
        assert api.delete(path(platform), as_=platform.owner).status == 204
        current = shown(api, platform)
        assert {name: current[name] for name in NO_DOMAIN} == NO_DOMAIN
        assert log_of(api, organization)[0]["changes"] == [
            {"field": "domain", "from": SHOP, "to": None},
            {"field": "status", "from": "pending", "to": "none"},
        ]

    def test_removing_no_domain_changes_nothing(self, api: Api, organization: Founded, platform: Running) -> None:
        assert api.delete(path(platform), as_=platform.owner).status == 204
        assert told(api, organization) == []

    def test_a_removed_domain_is_free_at_once(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver
    ) -> None:
        other_platform = run_platform(api, organization)
        holds(nameserver, claim(api, other_platform))
        assert verify(api, other_platform).json["lastError"] == "DOMAIN_TAKEN"
        api.delete(path(verified), as_=verified.owner)
        assert verify(api, other_platform).json["status"] == "verified"
        assert told(api, organization)[-2:] == ["removed", "verified"]

    def test_the_domain_of_a_deleted_platform_is_free_at_once(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver
    ) -> None:
        assert api.delete(verified.path, as_=verified.owner).status == 204
        other_platform = run_platform(api, organization)
        holds(nameserver, claim(api, other_platform))
        assert verify(api, other_platform).json["status"] == "verified"
        assert api.get(path(verified), as_=verified.owner).code == "404 not_found"

    def test_a_stale_etag_removes_no_domain(self, api: Api, platform: Running) -> None:
        stale = api.get(path(platform), as_=platform.owner).etag
        claimed = claim(api, platform)
        rejected = api.delete(path(platform), as_=platform.owner, headers={"If-Match": stale})
        assert rejected.code == "412 precondition_failed"
        assert shown(api, platform) == claimed

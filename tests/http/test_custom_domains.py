"""The custom domain of a platform: claimed, shown, given up. What DNS makes of it is in the file beside this one."""

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

NONE: Final[Json] = {
    "domain": None,
    "status": "none",
    "records": [],
    "verifiedAt": None,
    "lastCheckedAt": None,
    "lastError": None,
}


class TestGetCustomDomain:
    def test_a_new_platform_has_none(self, api: Api, platform: Running) -> None:
        answer = shown(api, platform)
        own = {name: platform.record[name] for name in ("id", "createdAt")}
        assert answer == {**own, "updatedAt": own["createdAt"], "version": 1, **NONE}

    def test_members_see_what_its_dns_has_to_hold(self, api: Api, platform: Running, mary: Person) -> None:
        claimed = claim(api, platform)
        assert api.get(path(platform), as_=mary).json == claimed

    def test_to_strangers_there_is_nothing_here(self, api: Api, platform: Running, stranger: Person) -> None:
        assert api.get(path(platform), as_=stranger).code == "404 not_found"
        assert api.get(path(platform)).code == "401 unauthenticated"

    def test_a_key_needs_the_scope_of_domains_or_a_general_one(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        for scope in ("domains:read", "domains:write", "read"):
            assert api.get(path(platform), as_=make_key(api, organization, scope)).status == 200
        other = make_key(api, organization, "platforms:read")
        assert api.get(path(platform), as_=other).code == "403 insufficient_scope"


class TestSetCustomDomain:
    def test_the_answer_says_what_dns_has_to_hold(self, api: Api, platform: Running) -> None:
        answer = api.post(path(platform), as_=platform.owner, json={"domain": SHOP})
        assert (answer.status, answer.location) == (201, path(platform))
        made = answer.json
        proof = made["records"][0]["expected"]
        assert proof.startswith("atrium-verify=")
        assert len(proof.removeprefix("atrium-verify=")) == 32
        assert {name: made[name] for name in NONE} == {
            **NONE,
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
        assert shown(api, platform) == made

    def test_an_apex_has_to_have_the_addresses_of_the_service(
        self, api: Api, platform: Running, configure: Configure
    ) -> None:
        configure(platforms_addresses="192.0.2.7,2001:db8::7")
        routes = claim(api, platform, "example.co.uk")["records"][1:]
        assert [(route["type"], route["relativeName"], route["expected"]) for route in routes] == [
            ("A", "@", "192.0.2.7"),
            ("AAAA", "@", "2001:db8::7"),
        ]

    def test_or_an_alias_where_it_has_none_of_its_own(self, api: Api, platform: Running) -> None:
        proof, route = claim(api, platform, "example.com")["records"]
        assert (route["type"], route["name"], route["relativeName"]) == ("ALIAS", "example.com", "@")
        assert route["expected"] == "cname.atrium.example"
        assert proof["relativeName"] == "_atrium-challenge"

    @pytest.mark.parametrize(
        ("written", "domain"),
        [
            ("  Shop.Example.COM. ", SHOP),
            ("Bücher.example.com", "xn--bcher-kva.example.com"),
            ("XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"),
            ("me.github.io", "me.github.io"),
        ],
    )
    def test_it_is_taken_as_dns_knows_it(self, api: Api, platform: Running, written: str, domain: str) -> None:
        assert claim(api, platform, written)["domain"] == domain

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
    def test_what_nobody_can_own_is_refused_with_what_to_do(
        self, api: Api, platform: Running, domain: object, code: str
    ) -> None:
        answer = api.post(path(platform), as_=platform.owner, json={"domain": domain})
        assert (answer.code, answer.faults) == ("422 validation_failed", {"/domain": code})
        assert shown(api, platform)["status"] == "none"

    def test_the_services_own_names_are_nobody_elses(self, api: Api, platform: Running, configure: Configure) -> None:
        configure(platforms_domain="platforms.example.net", public_url="https://api.example.org/v1")
        for own in ("platforms.example.net", "engines.platforms.example.net", "api.example.org", "v2.api.example.org"):
            answer = api.post(path(platform), as_=platform.owner, json={"domain": own})
            assert answer.faults == {"/domain": "malformed"}
            assert "belongs to the service" in answer.json["errors"][0]["detail"]

    def test_said_again_it_is_the_claim_that_there_is(self, api: Api, organization: Founded, platform: Running) -> None:
        claimed = claim(api, platform)
        again = api.post(path(platform), as_=platform.owner, json={"domain": SHOP.upper()})
        assert (again.status, again.json) == (200, claimed)
        assert told(api, organization) == ["added"]

    def test_another_one_takes_the_place_of_one_that_is_not_verified(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        first, second = claim(api, platform), claim(api, platform, "other.example.com")
        assert (second["domain"], second["status"], second["version"]) == ("other.example.com", "pending", 3)
        assert second["records"][0]["expected"] != first["records"][0]["expected"]
        newest = log_of(api, organization)[0]
        assert (newest["type"], newest["target"]["name"]) == ("platform.custom_domain.added", "other.example.com")
        assert newest["changes"] == [{"field": "domain", "from": SHOP, "to": "other.example.com"}]

    def test_but_not_of_one_that_is(self, api: Api, verified: Running) -> None:
        before = shown(api, verified)
        refused = api.post(path(verified), as_=verified.owner, json={"domain": "other.example.com"})
        assert (refused.code, refused.faults) == ("409 already_exists", {"/domain": "already_exists"})
        assert f"{SHOP} is verified. Remove it first" in refused.json["detail"]
        again = api.post(path(verified), as_=verified.owner, json={"domain": SHOP})
        assert (again.status, again.json) == (200, before)

    def test_its_proof_is_the_same_when_it_is_claimed_anew_and_another_elsewhere(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        first = claim(api, platform)["records"]
        api.delete(path(platform), as_=platform.owner)
        assert claim(api, platform)["records"] == first
        elsewhere = claim(api, run_platform(api, organization))["records"]
        assert elsewhere[0]["expected"] != first[0]["expected"]

    def test_admins_may_and_others_may_not(
        self, api: Api, organization: Founded, platform: Running, grace: Person, edith: Person, stranger: Person
    ) -> None:
        body = {"domain": SHOP}
        assert api.post(path(platform), as_=edith, json=body).code == "403 insufficient_role"
        assert api.post(path(platform), as_=stranger, json=body).code == "404 not_found"
        weak = make_key(api, organization, "write")
        assert api.post(path(platform), as_=weak, json=body).code == "403 insufficient_scope"
        assert api.post(path(platform), as_=make_key(api, organization, "domains:write"), json=body).status == 201
        assert api.post(path(platform), as_=grace, json={"domain": "other.example.com"}).status == 201


class TestRemoveCustomDomain:
    def test_then_there_is_none(self, api: Api, organization: Founded, platform: Running) -> None:
        claim(api, platform)
        assert api.delete(path(platform), as_=platform.owner).status == 204
        left = shown(api, platform)
        assert {name: left[name] for name in NONE} == NONE
        assert log_of(api, organization)[0]["changes"] == [
            {"field": "domain", "from": SHOP, "to": None},
            {"field": "status", "from": "pending", "to": "none"},
        ]

    def test_of_none_is_no_change(self, api: Api, organization: Founded, platform: Running) -> None:
        assert api.delete(path(platform), as_=platform.owner).status == 204
        assert told(api, organization) == []

    def test_a_verified_one_is_free_for_others_at_once(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver
    ) -> None:
        other = run_platform(api, organization)
        holds(nameserver, claim(api, other))
        assert verify(api, other).json["lastError"] == "DOMAIN_TAKEN"
        api.delete(path(verified), as_=verified.owner)
        assert verify(api, other).json["status"] == "verified"
        assert told(api, organization)[-2:] == ["removed", "verified"]

    def test_a_deleted_platforms_is_free_as_well(
        self, api: Api, organization: Founded, verified: Running, nameserver: Nameserver
    ) -> None:
        assert api.delete(verified.path, as_=verified.owner).status == 204
        other = run_platform(api, organization)
        holds(nameserver, claim(api, other))
        assert verify(api, other).json["status"] == "verified"
        assert api.get(path(verified), as_=verified.owner).code == "404 not_found"

    def test_a_claim_that_was_not_seen_stays(self, api: Api, platform: Running) -> None:
        stale = api.get(path(platform), as_=platform.owner).etag
        claimed = claim(api, platform)
        refused = api.delete(path(platform), as_=platform.owner, headers={"If-Match": stale})
        assert refused.code == "412 precondition_failed"
        assert shown(api, platform) == claimed

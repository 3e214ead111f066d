"""Custom domains of platforms: claiming, reading, removing and listing them. Their DNS checks have their own tests."""

from typing import Final

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.domains import (
    SHOP_DOMAIN,
    claim_domain,
    custom_domain_events,
    get_custom_domain,
    publish_dns_records,
    set_domain_state,
    verify_domain,
)
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient

PATH: Final = "/custom-domain"
UNCHECKED: Final = dict.fromkeys(("verifiedAt", "lastCheckedAt", "lastError", "lastErrorDetail"))
NORMALIZED_DOMAINS = {
    "  Shop.Example.COM. ": SHOP_DOMAIN,
    **dict.fromkeys(("Bücher.example.com", "XN--BCHER-KVA.example.com"), "xn--bcher-kva.example.com"),
    "me.github.io": "me.github.io",
}
RESERVED_DOMAINS = ["db.prod.internal", "nas.home.arpa", "printer.corp.local", "shop.corp", "shop.test", "shop.onion"]
INVALID_DOMAINS: Final[Json] = {
    "required": [None],
    "wrong_type": [7, [SHOP_DOMAIN]],
    "too_short": [""],
    "too_long": ["a." * 600],
    "malformed": [
        *("192.0.2.7", "2001:db8::7", "com", "co.uk", "github.io", "localhost", "shop", *RESERVED_DOMAINS),
        *("*.example.com", "https://shop.example.com", "shop.example.com:443", "a_b.example", ".".join(["a" * 60] * 4)),
        *("engines.atrium.example", "atrium.example"),
    ],
}
NO_DOMAIN: Final[Json] = {
    "domain": None,
    "status": "none",
    "records": [],
    **UNCHECKED,
    "nextCheckAt": None,
    "failsAt": None,
}
CHECKED = "2026-11-20T09:30:00.000Z"


def post_domain(platform: PlatformClient, domain: object) -> ApiResponse:
    return platform.post(PATH, {"domain": domain})


def test_a_new_platform_has_no_domain(platform):
    record = {name: platform.record[name] for name in ("id", "createdAt")}
    expected = {**record, "updatedAt": record["createdAt"], "version": 1, **NO_DOMAIN}
    assert platform.get(PATH).json == expected


class TestSetCustomDomain:
    def test_an_apex_needs_the_fixed_addresses_of_the_service_or_an_alias(self, api, platform, configure):
        proof, route = claim_domain(api, platform, "example.com")["records"]
        assert (route["type"], route["name"], route["relativeName"]) == ("ALIAS", "example.com", "@")
        assert (route["expected"], proof["relativeName"]) == ("cname.atrium.example", "_atrium-challenge")
        configure(platforms_addresses="192.0.2.7,2001:db8::7")
        routes = claim_domain(api, platform, "example.co.uk")["records"][1:]
        found = [(route["type"], route["relativeName"], route["expected"]) for route in routes]
        assert found == [("A", "@", "192.0.2.7"), ("AAAA", "@", "2001:db8::7")]

    @pytest.mark.parametrize(("entered", "domain"), NORMALIZED_DOMAINS.items())
    def test_the_domain_is_normalized(self, api, platform, entered, domain):
        assert claim_domain(api, platform, entered)["domain"] == domain

    @pytest.mark.parametrize(("code", "domains"), INVALID_DOMAINS.items())
    def test_domains_that_cannot_be_claimed_are_rejected(self, platform, code, domains):
        for domain in domains:
            assert post_domain(platform, domain).validation_errors == {"/domain": code}, domain
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
        changes = [{"field": "domain", "from": SHOP_DOMAIN, "to": "other.example.com"}]
        assert list_entries(api, organization)[0]["changes"] == changes

    def test_a_verified_domain_is_not_replaced(self, verified_platform):
        before = verified_platform.get(PATH).json
        rejected = post_domain(verified_platform, "other.example.com")
        rejected.expect_problem("409 already_exists", f"{SHOP_DOMAIN} is verified. Remove it first")
        assert rejected.errors == {"/domain": "already_exists"}
        repeated = post_domain(verified_platform, SHOP_DOMAIN)
        assert (repeated.status, repeated.json) == (200, before)


class TestRemoveCustomDomain:
    def test_the_domain_is_removed_once_and_can_be_claimed_again(self, api, organization, platform):
        records = claim_domain(api, platform)["records"]
        for _ in range(2):
            assert platform.delete(PATH).status == 204
            current = get_custom_domain(api, platform)
            assert current | NO_DOMAIN == current
        assert custom_domain_events(api, organization) == ["added", "removed"]
        assert claim_domain(api, platform)["records"] == records

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


@pytest.fixture
def path(organization):
    return f"{organization.path}/domains/inventory"


@pytest.fixture
def list_ids(api, path, mary):
    return lambda **query: [item["platformId"] for item in api.get_items(path, caller=mary, query=query)]


class TestListDomainInventory:
    def test_the_inventory_follows_changes_of_platforms_and_domains(self, api, path, new_platform, ada):
        def read_item() -> Json:
            (item,) = api.get_items(path, caller=ada)
            return item

        platform = new_platform(slug="engines")
        set_domain_state(platform, "verified", "engines.example.com", verified_at=CHECKED, last_checked_at=CHECKED)
        platform.update(name="Looms", slug="looms")
        item = read_item()
        renamed = {"platformSlug": "looms", "platformName": "Looms", "subdomain": "looms"}
        checked = {"verificationStatus": "verified", "verifiedAt": CHECKED, "lastCheckedAt": CHECKED}
        assert item | renamed | checked | {"customDomain": "engines.example.com"} == item
        platform.delete(PATH)
        item |= {"customDomain": None, "verificationStatus": "none", "verifiedAt": None, "lastCheckedAt": None}
        assert read_item() == item
        claim_domain(api, platform, "looms.example.com")
        assert read_item() == item | {"customDomain": "looms.example.com", "verificationStatus": "pending"}
        platform.delete()
        assert api.get_items(path, caller=ada) == []

    def test_only_platforms_of_the_organization_are_listed_in_the_order_of_their_creation(
        self, api, organization, new_platform, list_ids, ada
    ):
        create_api_key(api, organization)
        created_ids = [new_platform(name=name).id for name in "caebd"]
        for limit in (1, 2, 100):
            assert list_ids(limit=limit) == created_ids
        set_domain_state(new_platform(create_organization(api, ada)), "verified")
        assert (list_ids(), list_ids(verificationStatus="verified")) == (created_ids, [])


class TestFilterByVerificationStatus:
    @pytest.fixture(autouse=True)
    def platform_ids(self, new_platform):
        """The ids of two platforms for each status, in the order of their creation."""
        ids_by_status: dict[str, list[str]] = {}
        for n, status in enumerate(["none", "pending", "verified", "failed", "lapsed"] * 2):
            platform = new_platform()
            if status != "none":
                set_domain_state(platform, status, f"{status}{n // 5}.example.com")
            ids_by_status.setdefault(status, []).append(platform.id)
        return ids_by_status

    def test_the_filter_lists_the_platforms_of_one_status(self, api, path, mary, platform_ids, list_ids):
        for status, ids in platform_ids.items():
            items = api.get_items(path, caller=mary, query={"verificationStatus": status})
            domains = [None if status == "none" else f"{status}{n}.example.com" for n in range(2)]
            assert [item["platformId"] for item in items] == ids == list_ids(verificationStatus=status, limit=1)
            assert [item["customDomain"] for item in items] == domains
            assert {item["verificationStatus"] for item in items} == {status}

    def test_a_cursor_is_valid_only_for_its_status_and_other_statuses_are_rejected(self, api, path, mary):
        query = {"verificationStatus": "pending", "limit": 1}
        cursor = api.get(path, caller=mary, query=query).json["nextCursor"]
        for other_query in ({}, {"verificationStatus": "verified"}):
            response = api.get(path, caller=mary, query={**other_query, "cursor": cursor})
            assert response.status_and_code == "400 invalid_cursor"
        for status in ("", "Verified", "unknown", "verified,failed"):
            response = api.get(path, caller=mary, query={"verificationStatus": status})
            assert set(response.errors) == {"query/verificationStatus"}, status

    def test_a_page_takes_one_query_with_the_limit_of_the_page(self, api, path, mary):
        for query, index in (({"limit": 1}, None), ({"limit": 1, "verificationStatus": "lapsed"}, "facet1")):
            calls = api.get(path, caller=mary, query=query).calls.call_list
            (parameters,) = (call.parameters for call in calls if call.name == "dynamodb:Query")
            assert (parameters["Limit"], parameters.get("IndexName")) == (1, index)

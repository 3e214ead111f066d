"""The inventory of the custom domains of an organization's platforms."""

import pytest

from tests.harness.api import Json
from tests.harness.domains import claim_domain, set_domain_state
from tests.harness.organizations import create_api_key, create_organization

CHECKED = "2026-11-20T09:30:00.000Z"


@pytest.fixture
def path(organization):
    """The path of the inventory."""
    return f"{organization.path}/domains/inventory"


@pytest.fixture
def list_ids(api, path, mary):
    """A function that lists the ids of the platforms in the inventory."""

    def list_ids(**query: object) -> list[str]:
        return [item["platformId"] for item in api.get_items(path, caller=mary, query=query)]

    return list_ids


class TestListDomainInventory:
    def test_an_item_has_exactly_the_fields_of_the_contract(self, api, path, new_platform, mary):
        assert api.get(path, caller=mary).json == {"items": [], "nextCursor": None}
        platform = new_platform(slug="engines", name="Analytical Engines")
        item: Json = {
            "platformId": platform.id,
            "platformSlug": "engines",
            "platformName": "Analytical Engines",
            "customDomain": None,
            "subdomain": "engines",
            "verificationStatus": "none",
            "verifiedAt": None,
            "lastCheckedAt": None,
        }
        assert api.get(path, caller=mary).json["items"] == [item]
        set_domain_state(platform, "verified", "engines.example.com", verified_at=CHECKED, last_checked_at=CHECKED)
        item |= {"customDomain": "engines.example.com", "verificationStatus": "verified"}
        assert api.get(path, caller=mary).json["items"] == [item | {"verifiedAt": CHECKED, "lastCheckedAt": CHECKED}]

    def test_the_inventory_follows_changes_of_platforms_and_domains(self, api, path, new_platform, ada):
        def read(*fields: str) -> list[object]:
            (entry,) = api.get_items(path, caller=ada)
            return [entry[name] for name in fields]

        platform = new_platform(slug="engines")
        claim_domain(api, platform, "engines.example.com")
        platform.update(name="Looms", slug="looms")
        assert read("platformSlug", "platformName", "subdomain") == ["looms", "Looms", "looms"]
        assert read("customDomain", "verificationStatus") == ["engines.example.com", "pending"]
        platform.delete("/custom-domain")
        assert read("customDomain", "verificationStatus") == [None, "none"]
        platform.delete()
        assert api.get_items(path, caller=ada) == []

    def test_platforms_are_listed_in_the_order_of_their_creation(self, api, organization, path, new_platform, list_ids):
        create_api_key(api, organization)
        created_ids = [new_platform(name=name).id for name in "caebd"]
        for limit, sizes in ((1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (100, [5])):
            assert list_ids(limit=limit) == created_ids
            pages = api.get_pages(path, caller=organization.owner, query={"limit": limit})
            assert [len(page["items"]) for page in pages if page["items"]] == sizes

    def test_an_organization_sees_only_its_own_platforms(self, api, new_platform, list_ids, ada):
        set_domain_state(new_platform(create_organization(api, ada)), "verified")
        assert list_ids() == list_ids(verificationStatus="verified") == []


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

    def test_a_cursor_is_valid_only_for_its_status(self, api, path, mary):
        query = {"verificationStatus": "pending", "limit": 1}
        cursor = api.get(path, caller=mary, query=query).json["nextCursor"]
        for other_query in ({}, {"verificationStatus": "verified"}):
            response = api.get(path, caller=mary, query={**other_query, "cursor": cursor})
            assert response.status_and_code == "400 invalid_cursor"

    def test_a_page_takes_one_query_with_the_limit_of_the_page(self, api, path, mary):
        for query, index in (({"limit": 1}, None), ({"limit": 1, "verificationStatus": "lapsed"}, "facet1")):
            calls = api.get(path, caller=mary, query=query).calls.call_list
            (parameters,) = (call.parameters for call in calls if call.name == "dynamodb:Query")
            assert (parameters["Limit"], parameters.get("IndexName")) == (1, index)

    def test_other_statuses_are_rejected(self, api, path, mary):
        for status in ("", "Verified", "unknown", "verified,failed"):
            response = api.get(path, caller=mary, query={"verificationStatus": status})
            assert response.status_and_code == "422 validation_failed", status
            assert set(response.errors) == {"query/verificationStatus"}

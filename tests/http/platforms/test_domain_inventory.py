from collections.abc import Sequence

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.domains import claim_domain, custom_domain_path, set_domain_state
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import create_platform

CHECKED = "2026-11-20T09:30:00.000Z"


def create_platforms(api: ApiClient, organization: CreatedOrganization, count: int = 1) -> list[str]:
    """Create platforms and return their ids, in the order of their creation."""
    return [create_platform(api, organization).id for _ in range(count)]


def inventory_path(organization: CreatedOrganization) -> str:
    return f"{organization.path}/domains/inventory"


def platform_ids(items: Sequence[Json]) -> list[str]:
    return [item["platformId"] for item in items]


class TestListDomainInventory:
    def test_an_organization_without_platforms_has_an_empty_inventory(self, api, organization, mary):
        assert api.get(inventory_path(organization), caller=mary).json == {"items": [], "nextCursor": None}

    def test_an_item_has_exactly_the_fields_of_the_contract(self, api, organization, mary):
        platform = create_platform(api, organization, slug="engines", name="Analytical Engines")
        set_domain_state(platform, "verified", "engines.example.com", verified_at=CHECKED, last_checked_at=CHECKED)
        assert api.get(inventory_path(organization), caller=mary).json["items"] == [
            {
                "platformId": platform.id,
                "platformSlug": "engines",
                "platformName": "Analytical Engines",
                "customDomain": "engines.example.com",
                "subdomain": "engines",
                "verificationStatus": "verified",
                "verifiedAt": CHECKED,
                "lastCheckedAt": CHECKED,
            }
        ]

    def test_the_inventory_follows_changes_of_platforms_and_domains(self, api, organization):
        platform, owner = create_platform(api, organization, slug="engines"), organization.owner
        claim_domain(api, platform, "engines.example.com")
        api.patch(platform.path, caller=owner, json={"name": "Looms", "slug": "looms"})
        (entry,) = api.get_items(inventory_path(organization), caller=owner)
        names = [entry[name] for name in ("platformSlug", "platformName", "subdomain")]
        assert names == ["looms", "Looms", "looms"]
        assert (entry["customDomain"], entry["verificationStatus"]) == ("engines.example.com", "pending")
        api.delete(custom_domain_path(platform), caller=owner)
        (entry,) = api.get_items(inventory_path(organization), caller=owner)
        assert (entry["customDomain"], entry["verificationStatus"]) == (None, "none")
        api.delete(platform.path, caller=owner)
        assert api.get_items(inventory_path(organization), caller=owner) == []

    def test_a_platform_without_a_domain_is_listed(self, api, organization, mary):
        create_platforms(api, organization)
        (item,) = api.get_items(inventory_path(organization), caller=mary)
        empty_fields = ("customDomain", "verificationStatus", "verifiedAt", "lastCheckedAt")
        assert [item[name] for name in empty_fields] == [None, "none", None, None]

    def test_platforms_are_listed_in_the_order_of_their_creation(self, api, organization, mary):
        created_ids = [create_platform(api, organization, name=name).id for name in "caebd"]
        assert platform_ids(api.get_items(inventory_path(organization), caller=mary)) == created_ids

    @pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (100, [5])])
    def test_pagination_yields_each_platform_once(self, api, organization, mary, limit, sizes):
        created_ids = create_platforms(api, organization, 5)
        pages = api.get_pages(inventory_path(organization), caller=mary, query={"limit": limit})
        assert platform_ids([item for page in pages for item in page["items"]]) == created_ids
        assert [len(page["items"]) for page in pages if page["items"]] == sizes

    def test_only_platforms_are_listed(self, api, organization, ada):
        create_api_key(api, organization)
        created_ids = create_platforms(api, organization)
        assert platform_ids(api.get_items(inventory_path(organization), caller=ada)) == created_ids

    def test_an_organization_sees_only_its_own_platforms(self, api, organization, ada):
        other_organization = create_organization(api, ada)
        set_domain_state(create_platform(api, other_organization), "verified")
        assert api.get_items(inventory_path(organization), caller=ada) == []
        assert api.get_items(inventory_path(organization), caller=ada, query={"verificationStatus": "verified"}) == []

    def test_only_members_see_the_inventory(self, api, organization, mary, stranger):
        assert api.get(inventory_path(organization), caller=mary).status == 200
        assert api.get(inventory_path(organization), caller=stranger).status_and_code == "404 not_found"
        assert api.get(inventory_path(organization)).status_and_code == "401 unauthenticated"

    def test_a_key_needs_a_domains_scope_or_a_general_one(self, api, organization):
        for scope in ("domains:read", "domains:write", "read"):
            assert api.get(inventory_path(organization), caller=create_api_key(api, organization, scope)).status == 200
        platforms_key = create_api_key(api, organization, "platforms:read")
        assert api.get(inventory_path(organization), caller=platforms_key).status_and_code == "403 insufficient_scope"


class TestFilterByVerificationStatus:
    @pytest.fixture
    def platforms(self, api: ApiClient, organization: CreatedOrganization) -> dict[str, list[str]]:
        """The ids of two platforms for each status, in the order of their creation."""
        ids_by_status: dict[str, list[str]] = {}
        for status in ["none", "pending", "verified", "failed", "lapsed"] * 2:
            platform = create_platform(api, organization)
            if status != "none":
                set_domain_state(platform, status, f"{status}{len(ids_by_status.get(status, ()))}.example.com")
            ids_by_status.setdefault(status, []).append(platform.id)
        return ids_by_status

    @pytest.mark.parametrize("status", ["none", "pending", "verified", "failed", "lapsed"])
    def test_the_filter_lists_the_platforms_of_one_status(self, api, organization, mary, platforms, status):
        items = api.get_items(inventory_path(organization), caller=mary, query={"verificationStatus": status})
        assert platform_ids(items) == platforms[status]
        assert {item["verificationStatus"] for item in items} == {status}
        domains = [None] * 2 if status == "none" else [f"{status}{n}.example.com" for n in range(2)]
        assert [item["customDomain"] for item in items] == domains

    def test_a_filtered_list_is_paginated(self, api, organization, mary, platforms):
        query = {"verificationStatus": "pending", "limit": 1}
        pages = api.get_pages(inventory_path(organization), caller=mary, query=query)
        listed = [platform_ids(page["items"]) for page in pages if page["items"]]
        assert listed == [[platform_id] for platform_id in platforms["pending"]]

    @pytest.mark.usefixtures("platforms")
    def test_a_cursor_is_valid_only_for_its_status(self, api, organization, mary):
        query = {"verificationStatus": "pending", "limit": 1}
        cursor = api.get(inventory_path(organization), caller=mary, query=query).json["nextCursor"]
        for other_query in ({}, {"verificationStatus": "verified"}):
            response = api.get(inventory_path(organization), caller=mary, query={**other_query, "cursor": cursor})
            assert response.status_and_code == "400 invalid_cursor"

    @pytest.mark.usefixtures("platforms")
    def test_a_page_takes_one_query_with_the_limit_of_the_page(self, api, organization, mary):
        for query, index in (({"limit": 1}, None), ({"limit": 1, "verificationStatus": "lapsed"}, "facet1")):
            (query_parameters,) = (
                call.parameters
                for call in api.get(inventory_path(organization), caller=mary, query=query).calls.call_list
                if call.name == "dynamodb:Query"
            )
            assert (query_parameters["Limit"], query_parameters.get("IndexName")) == (1, index)

    @pytest.mark.parametrize("status", ["", "Verified", "unknown", "verified,failed"])
    def test_other_statuses_are_rejected(self, api, organization, mary, status):
        response = api.get(inventory_path(organization), caller=mary, query={"verificationStatus": status})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"query/verificationStatus"}

from collections.abc import Sequence

import pytest

from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.domains import came_to, claim, path
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import run_platform

CHECKED = "2026-11-20T09:30:00.000Z"


def has_platforms(api: Api, organization: Founded, number: int = 1) -> list[str]:
    """Let an organization have so many platforms; return their ids, in the order they were created."""
    return [run_platform(api, organization).id for _ in range(number)]


def inventory(organization: Founded) -> str:
    return f"{organization.path}/domains/inventory"


def ids(items: Sequence[Json]) -> list[str]:
    return [item["platformId"] for item in items]


class TestListDomainInventory:
    def test_an_organization_without_platforms_has_none(self, api: Api, organization: Founded, mary: Person) -> None:
        assert api.get(inventory(organization), as_=mary).json == {"items": [], "nextCursor": None}

    def test_each_platform_is_shown_by_these_fields_and_no_others(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        platform = run_platform(api, organization, slug="engines", name="Analytical Engines")
        came_to(platform, "verified", "engines.example.com", verified_at=CHECKED, last_checked_at=CHECKED)
        assert api.get(inventory(organization), as_=mary).json["items"] == [
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

    def test_it_follows_what_becomes_of_a_platform_and_its_domain(self, api: Api, organization: Founded) -> None:
        platform, owner = run_platform(api, organization, slug="engines"), organization.owner
        claim(api, platform, "engines.example.com")
        api.patch(platform.path, as_=owner, json={"name": "Looms", "slug": "looms"})
        (entry,) = api.items(inventory(organization), as_=owner)
        named = [entry[name] for name in ("platformSlug", "platformName", "subdomain")]
        assert named == ["looms", "Looms", "looms"]
        assert (entry["customDomain"], entry["verificationStatus"]) == ("engines.example.com", "pending")
        api.delete(path(platform), as_=owner)
        (entry,) = api.items(inventory(organization), as_=owner)
        assert (entry["customDomain"], entry["verificationStatus"]) == (None, "none")
        api.delete(platform.path, as_=owner)
        assert api.items(inventory(organization), as_=owner) == []

    def test_one_that_claims_no_domain_is_listed_all_the_same(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        has_platforms(api, organization)
        (shown,) = api.items(inventory(organization), as_=mary)
        unknown = ("customDomain", "verificationStatus", "verifiedAt", "lastCheckedAt")
        assert [shown[name] for name in unknown] == [None, "none", None, None]

    def test_they_come_in_the_order_the_platforms_were_created(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        made = [run_platform(api, organization, name=name).id for name in "caebd"]
        assert ids(api.items(inventory(organization), as_=mary)) == made

    @pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (3, [3, 2]), (100, [5])])
    def test_page_after_page_each_comes_once(
        self, api: Api, organization: Founded, mary: Person, limit: int, sizes: list[int]
    ) -> None:
        made = has_platforms(api, organization, 5)
        pages = api.pages(inventory(organization), as_=mary, query={"limit": limit})
        assert ids([item for page in pages for item in page["items"]]) == made
        assert [len(page["items"]) for page in pages if page["items"]] == sizes

    def test_nothing_else_of_the_organization_is_among_them(self, api: Api, organization: Founded, ada: Person) -> None:
        make_key(api, organization)
        made = has_platforms(api, organization)
        assert ids(api.items(inventory(organization), as_=ada)) == made

    def test_an_organization_sees_its_own(self, api: Api, organization: Founded, ada: Person) -> None:
        other = found(api, ada)
        came_to(run_platform(api, other), "verified")
        assert api.items(inventory(organization), as_=ada) == []
        assert api.items(inventory(organization), as_=ada, query={"verificationStatus": "verified"}) == []

    def test_members_may_and_strangers_find_nothing(
        self, api: Api, organization: Founded, mary: Person, stranger: Person
    ) -> None:
        assert api.get(inventory(organization), as_=mary).status == 200
        assert api.get(inventory(organization), as_=stranger).code == "404 not_found"
        assert api.get(inventory(organization)).code == "401 unauthenticated"

    def test_a_key_needs_the_scope_of_domains_or_a_general_one(self, api: Api, organization: Founded) -> None:
        for scope in ("domains:read", "domains:write", "read"):
            assert api.get(inventory(organization), as_=make_key(api, organization, scope)).status == 200
        other = make_key(api, organization, "platforms:read")
        assert api.get(inventory(organization), as_=other).code == "403 insufficient_scope"


class TestByVerificationStatus:
    @pytest.fixture
    def platforms(self, api: Api, organization: Founded) -> dict[str, list[str]]:
        """The ids of two platforms of each status, in the order they were created."""
        found: dict[str, list[str]] = {}
        for status in ["none", "pending", "verified", "failed", "lapsed"] * 2:
            platform = run_platform(api, organization)
            if status != "none":
                came_to(platform, status, f"{status}{len(found.get(status, ()))}.example.com")
            found.setdefault(status, []).append(platform.id)
        return found

    @pytest.mark.parametrize("status", ["none", "pending", "verified", "failed", "lapsed"])
    def test_those_of_one_status_are_listed(
        self, api: Api, organization: Founded, mary: Person, platforms: dict[str, list[str]], status: str
    ) -> None:
        items = api.items(inventory(organization), as_=mary, query={"verificationStatus": status})
        assert ids(items) == platforms[status]
        assert {item["verificationStatus"] for item in items} == {status}
        domains = [None] * 2 if status == "none" else [f"{status}{n}.example.com" for n in range(2)]
        assert [item["customDomain"] for item in items] == domains

    def test_a_filtered_list_has_pages_too(
        self, api: Api, organization: Founded, mary: Person, platforms: dict[str, list[str]]
    ) -> None:
        query = {"verificationStatus": "pending", "limit": 1}
        pages = api.pages(inventory(organization), as_=mary, query=query)
        assert [ids(page["items"]) for page in pages if page["items"]] == [[one] for one in platforms["pending"]]

    @pytest.mark.usefixtures("platforms")
    def test_a_cursor_is_good_for_its_own_status_only(self, api: Api, organization: Founded, mary: Person) -> None:
        query = {"verificationStatus": "pending", "limit": 1}
        cursor = api.get(inventory(organization), as_=mary, query=query).json["nextCursor"]
        for other in ({}, {"verificationStatus": "verified"}):
            answer = api.get(inventory(organization), as_=mary, query={**other, "cursor": cursor})
            assert answer.code == "400 invalid_cursor"

    @pytest.mark.usefixtures("platforms")
    def test_a_page_is_one_query_and_reads_no_more_than_it_shows(
        self, api: Api, organization: Founded, mary: Person
    ) -> None:
        for query, index in (({"limit": 1}, None), ({"limit": 1, "verificationStatus": "lapsed"}, "facet1")):
            (asked,) = (
                call.parameters
                for call in api.get(inventory(organization), as_=mary, query=query).calls.made
                if call.name == "dynamodb:Query"
            )
            assert (asked["Limit"], asked.get("IndexName")) == (1, index)

    @pytest.mark.parametrize("status", ["", "Verified", "unknown", "verified,failed"])
    def test_other_statuses_are_refused(self, api: Api, organization: Founded, mary: Person, status: str) -> None:
        answer = api.get(inventory(organization), as_=mary, query={"verificationStatus": status})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {"query/verificationStatus"}

"""Test sites: creating, listing, reading, updating, publishing and deleting them."""

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.domains import set_domain_state
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import CreatedPlatform, create_platform, set_member_role
from tests.harness.sites import create_published_page, create_site


class TestCreateSite:
    def test_defaults_to_a_draft_without_pages(self, api, organization):
        answer = api.post(f"{organization.path}/sites", caller=organization.owner, json={"name": "All about Looms"})
        fields = {name: value for name, value in answer.json.items() if name not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "organizationId": organization.id,
            "name": "All about Looms",
            "slug": "all-about-looms",
            "description": None,
            "defaultLocale": "en",
            "platformId": None,
            "robots": {"disallow": [], "extra": None},
            "status": "draft",
            "publishedAt": None,
            "host": "all-about-looms.sites.atrium.example",
            "homePageId": None,
        }
        assert api.get(answer.location, caller=organization.owner).json == answer.json

    def test_a_slug_is_unique_in_the_service(self, api, organization, stranger):
        create_site(api, organization, slug="looms")
        other_organization = create_organization(api, stranger, name="Mills")
        body = {"name": "Looms", "slug": "looms"}
        assert (
            api.post(f"{other_organization.path}/sites", caller=stranger, json=body).status_and_code == "409 slug_taken"
        )
        assert create_site(api, other_organization, name="Looms").record["slug"].startswith("looms-")

    def test_editors_create_sites_and_members_do_not(self, api, organization, edith, mary, stranger):
        body = {"name": "Looms"}
        assert api.post(f"{organization.path}/sites", caller=edith, json=body).status == 201
        assert api.post(f"{organization.path}/sites", caller=mary, json=body).status_and_code == "403 insufficient_role"
        assert api.post(f"{organization.path}/sites", caller=stranger, json=body).status_and_code == "404 not_found"

    def test_rejects_malformed_robots(self, api, organization):
        robots = {"disallow": ["/drafts", "no path", "/a b"], "extra": "Crawl-delay: 1\nnonsense"}
        answer = api.post(
            f"{organization.path}/sites", caller=organization.owner, json={"name": "Looms", "robots": robots}
        )
        assert answer.errors == {
            "/robots/disallow/1": "malformed",
            "/robots/disallow/2": "malformed",
            "/robots/extra": "malformed",
        }


class TestSitePlatform:
    def test_belongs_to_the_organization_and_has_at_most_one_site(self, api, organization, platform, stranger):
        site = create_site(api, organization, platformId=platform.id)
        body = {"name": "Another", "platformId": platform.id}
        second_answer = api.post(f"{organization.path}/sites", caller=organization.owner, json=body)
        assert (second_answer.status_and_code, set(second_answer.errors)) == ("409 already_exists", {"/platformId"})
        foreign_platform = create_platform(api, create_organization(api, stranger, name="Mills"))
        answer = api.patch(site.path, caller=site.owner, json={"platformId": foreign_platform.id})
        assert answer.errors == {"/platformId": "unknown"}
        assert api.delete(site.path, caller=site.owner).status == 204
        assert create_site(api, organization, platformId=platform.id).record["platformId"] == platform.id

    def test_provides_its_domain_to_the_site_once_verified(self, api, organization, platform):
        site = create_site(api, organization, platformId=platform.id)
        default_host = site.record["host"]
        set_domain_state(platform, "pending", "looms.example.com")
        assert api.get(site.path, caller=site.owner).json["host"] == default_host
        set_domain_state(platform, "verified", "looms.example.com")
        assert api.get(site.path, caller=site.owner).json["host"] == "looms.example.com"
        assert [item["host"] for item in api.get_items(f"{organization.path}/sites", caller=site.owner)] == [
            "looms.example.com"
        ]


class TestListSites:
    def test_sites_are_in_order_of_creation(self, api, organization, mary):
        site_ids = [create_site(api, organization, name=name).id for name in ("Looms", "Mills", "Engines")]
        assert [
            item["id"] for item in api.get_items(f"{organization.path}/sites", caller=mary, query={"limit": 2})
        ] == site_ids


class TestUpdateSite:
    def test_publishes_and_unpublishes(self, api, organization):
        site = create_site(api, organization, publish=False)
        published_site = api.patch(site.path, caller=site.owner, json={"status": "published"}).json
        assert (published_site["status"], published_site["publishedAt"]) == ("published", published_site["updatedAt"])
        unpublished_site = api.patch(site.path, caller=site.owner, json={"status": "draft"}).json
        assert (unpublished_site["status"], unpublished_site["publishedAt"]) == ("draft", None)
        api.patch(site.path, caller=site.owner, json={"name": "Looms"})
        event_types = [entry["type"] for entry in list_entries(api, organization)]
        assert event_types[:4] == ["site.updated", "site.unpublished", "site.published", "site.created"]

    def test_merges_robots(self, api, organization):
        site = create_site(api, organization, robots={"disallow": ["/a"], "extra": "# why"})
        updated_site = api.patch(site.path, caller=site.owner, json={"robots": {"disallow": ["/b"]}}).json
        assert updated_site["robots"] == {"disallow": ["/b"], "extra": "# why"}

    def test_rejects_the_computed_home_page(self, api, organization):
        site = create_site(api, organization)
        page = create_published_page(api, site, "Welcome")
        assert api.get(site.path, caller=site.owner).json["homePageId"] == page.id
        answer = api.patch(site.path, caller=site.owner, json={"homePageId": None})
        assert answer.errors == {"/homePageId": "read_only"}


class TestDeleteSite:
    def test_requires_an_admin(self, api, organization, edith, grace):
        site = create_site(api, organization)
        assert api.delete(site.path, caller=edith).status_and_code == "403 insufficient_role"
        assert api.delete(site.path, caller=grace).status == 204
        assert api.get(site.path, caller=edith).status_and_code == "404 not_found"

    def test_deletes_all_pages_with_it(self, api, organization):
        site = create_site(api, organization, slug="looms")
        page = create_published_page(api, site, "Welcome")
        key = create_api_key(api, organization, "sites:read")
        assert api.get(page.path, caller=key).status == 200
        api.delete(site.path, caller=site.owner)
        for path in (page.path, f"{site.path}/pages", f"{site.path}/pages/home"):
            assert api.get(path, caller=key).status_and_code == "404 not_found"
        assert api.get("/sites/resolve", query={"host": site.record["host"]}).status_and_code == "404 not_found"


class TestSiteOfAPlatform:
    """Only admins of a platform decide which site its domain shows."""

    def request_both_changes(
        self, api: ApiClient, organization: CreatedOrganization, platform: CreatedPlatform, caller: Caller
    ) -> list[ApiResponse]:
        """Return the answers to requests to move a site to a platform, and to create one there."""
        site = create_site(api, organization, name="Elsewhere")
        body = {"name": "Here", "platformId": platform.id}
        answers = [
            api.patch(site.path, caller=caller, json={"platformId": platform.id}),
            api.post(f"{organization.path}/sites", caller=caller, json=body),
        ]
        for path in (site.path, *(answer.location for answer in answers[1:] if answer.status == 201)):
            assert api.delete(path, caller=organization.owner).status == 204
        return answers

    def test_is_forbidden_to_editors(self, api, organization, platform, edith, mary):
        promotion = api.patch(
            f"{organization.path}/members/{mary.id}", caller=organization.owner, json={"role": "editor"}
        )
        assert promotion.status == 200
        set_member_role(api, platform, mary, "editor")
        for person in (edith, mary):
            for answer in self.request_both_changes(api, organization, platform, person):
                assert (answer.status_and_code, answer.errors) == (
                    "403 insufficient_role",
                    {"/platformId": "insufficient_role"},
                )
                assert "'admin' on that platform" in answer.json["detail"]

    def test_is_set_by_admins_of_the_platform_or_the_organization(self, api, organization, platform, edith, grace):
        set_member_role(api, platform, edith, "admin")
        for person in (edith, grace):
            assert self.request_both_changes(api, organization, platform, person)[0].status == 200

    def test_is_set_by_keys_that_may_change_platforms(self, api, organization, platform):
        for scopes in (["write"], ["sites:write"], ["sites:write", "platforms:read"]):
            for answer in self.request_both_changes(
                api, organization, platform, create_api_key(api, organization, *scopes)
            ):
                assert (answer.status_and_code, answer.errors) == (
                    "403 insufficient_scope",
                    {"/platformId": "insufficient_scope"},
                )
        for scopes in (["admin"], ["sites:write", "platforms:write"]):
            assert (
                self.request_both_changes(api, organization, platform, create_api_key(api, organization, *scopes))[
                    0
                ].status
                == 200
            )

    def test_editors_may_keep_or_remove_the_platform(self, api, organization, platform, edith):
        site = create_site(api, organization, platformId=platform.id)
        answer = api.patch(site.path, caller=edith, json={"platformId": platform.id, "name": "Mills"})
        assert (answer.status, answer.json["name"]) == (200, "Mills")
        assert api.patch(site.path, caller=edith, json={"platformId": None}).status == 200

"""Test sites: creating, listing, reading, updating, publishing and deleting them."""

from tests.harness.api import Answer, Api
from tests.harness.callers import Caller, Person
from tests.harness.domains import came_to
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Running, is_made, run_platform
from tests.harness.sites import make_site, page_of


class TestCreateSite:
    def test_defaults_to_a_draft_without_pages(self, api: Api, organization: Founded) -> None:
        answer = api.post(f"{organization.path}/sites", as_=organization.owner, json={"name": "All about Looms"})
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
        assert api.get(answer.location, as_=organization.owner).json == answer.json

    def test_a_slug_is_unique_in_the_service(self, api: Api, organization: Founded, stranger: Person) -> None:
        make_site(api, organization, slug="looms")
        other_organization = found(api, stranger, name="Mills")
        body = {"name": "Looms", "slug": "looms"}
        assert api.post(f"{other_organization.path}/sites", as_=stranger, json=body).code == "409 slug_taken"
        assert make_site(api, other_organization, name="Looms").record["slug"].startswith("looms-")

    def test_editors_create_sites_and_members_do_not(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person
    ) -> None:
        body = {"name": "Looms"}
        assert api.post(f"{organization.path}/sites", as_=edith, json=body).status == 201
        assert api.post(f"{organization.path}/sites", as_=mary, json=body).code == "403 insufficient_role"
        assert api.post(f"{organization.path}/sites", as_=stranger, json=body).code == "404 not_found"

    def test_rejects_malformed_robots(self, api: Api, organization: Founded) -> None:
        robots = {"disallow": ["/drafts", "no path", "/a b"], "extra": "Crawl-delay: 1\nnonsense"}
        answer = api.post(
            f"{organization.path}/sites", as_=organization.owner, json={"name": "Looms", "robots": robots}
        )
        assert answer.faults == {
            "/robots/disallow/1": "malformed",
            "/robots/disallow/2": "malformed",
            "/robots/extra": "malformed",
        }


class TestSitePlatform:
    def test_belongs_to_the_organization_and_has_at_most_one_site(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        site = make_site(api, organization, platformId=platform.id)
        body = {"name": "Another", "platformId": platform.id}
        second_answer = api.post(f"{organization.path}/sites", as_=organization.owner, json=body)
        assert (second_answer.code, set(second_answer.faults)) == ("409 already_exists", {"/platformId"})
        foreign_platform = run_platform(api, found(api, stranger, name="Mills"))
        answer = api.patch(site.path, as_=site.owner, json={"platformId": foreign_platform.id})
        assert answer.faults == {"/platformId": "unknown"}
        assert api.delete(site.path, as_=site.owner).status == 204
        assert make_site(api, organization, platformId=platform.id).record["platformId"] == platform.id

    def test_provides_its_domain_to_the_site_once_verified(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        site = make_site(api, organization, platformId=platform.id)
        default_host = site.record["host"]
        came_to(platform, "pending", "looms.example.com")
        assert api.get(site.path, as_=site.owner).json["host"] == default_host
        came_to(platform, "verified", "looms.example.com")
        assert api.get(site.path, as_=site.owner).json["host"] == "looms.example.com"
        assert [item["host"] for item in api.items(f"{organization.path}/sites", as_=site.owner)] == [
            "looms.example.com"
        ]


class TestListSites:
    def test_sites_are_in_order_of_creation(self, api: Api, organization: Founded, mary: Person) -> None:
        site_ids = [make_site(api, organization, name=name).id for name in ("Looms", "Mills", "Engines")]
        assert [
            item["id"] for item in api.items(f"{organization.path}/sites", as_=mary, query={"limit": 2})
        ] == site_ids


class TestUpdateSite:
    def test_publishes_and_unpublishes(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, published=False)
        published_site = api.patch(site.path, as_=site.owner, json={"status": "published"}).json
        assert (published_site["status"], published_site["publishedAt"]) == ("published", published_site["updatedAt"])
        unpublished_site = api.patch(site.path, as_=site.owner, json={"status": "draft"}).json
        assert (unpublished_site["status"], unpublished_site["publishedAt"]) == ("draft", None)
        api.patch(site.path, as_=site.owner, json={"name": "Looms"})
        event_types = [entry["type"] for entry in log_of(api, organization)]
        assert event_types[:4] == ["site.updated", "site.unpublished", "site.published", "site.created"]

    def test_merges_robots(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, robots={"disallow": ["/a"], "extra": "# why"})
        updated_site = api.patch(site.path, as_=site.owner, json={"robots": {"disallow": ["/b"]}}).json
        assert updated_site["robots"] == {"disallow": ["/b"], "extra": "# why"}

    def test_rejects_the_computed_home_page(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page = page_of(api, site, "Welcome")
        assert api.get(site.path, as_=site.owner).json["homePageId"] == page.id
        answer = api.patch(site.path, as_=site.owner, json={"homePageId": None})
        assert answer.faults == {"/homePageId": "read_only"}


class TestDeleteSite:
    def test_requires_an_admin(self, api: Api, organization: Founded, edith: Person, grace: Person) -> None:
        site = make_site(api, organization)
        assert api.delete(site.path, as_=edith).code == "403 insufficient_role"
        assert api.delete(site.path, as_=grace).status == 204
        assert api.get(site.path, as_=edith).code == "404 not_found"

    def test_deletes_all_pages_with_it(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, slug="looms")
        page = page_of(api, site, "Welcome")
        key = make_key(api, organization, "sites:read")
        assert api.get(page.path, as_=key).status == 200
        api.delete(site.path, as_=site.owner)
        for path in (page.path, f"{site.path}/pages", f"{site.path}/pages/home"):
            assert api.get(path, as_=key).code == "404 not_found"
        assert api.get("/sites/resolve", query={"host": site.record["host"]}).code == "404 not_found"


class TestSiteOfAPlatform:
    """Only admins of a platform decide which site its domain shows."""

    def request_both_changes(self, api: Api, organization: Founded, platform: Running, as_: Caller) -> list[Answer]:
        """Return the answers to requests to move a site to a platform, and to create one there."""
        site = make_site(api, organization, name="Elsewhere")
        body = {"name": "Here", "platformId": platform.id}
        answers = [
            api.patch(site.path, as_=as_, json={"platformId": platform.id}),
            api.post(f"{organization.path}/sites", as_=as_, json=body),
        ]
        for path in (site.path, *(answer.location for answer in answers[1:] if answer.status == 201)):
            assert api.delete(path, as_=organization.owner).status == 204
        return answers

    def test_is_forbidden_to_editors(
        self, api: Api, organization: Founded, platform: Running, edith: Person, mary: Person
    ) -> None:
        promotion = api.patch(f"{organization.path}/members/{mary.id}", as_=organization.owner, json={"role": "editor"})
        assert promotion.status == 200
        is_made(api, platform, mary, "editor")
        for person in (edith, mary):
            for answer in self.request_both_changes(api, organization, platform, person):
                assert (answer.code, answer.faults) == ("403 insufficient_role", {"/platformId": "insufficient_role"})
                assert "'admin' on that platform" in answer.json["detail"]

    def test_is_set_by_admins_of_the_platform_or_the_organization(
        self, api: Api, organization: Founded, platform: Running, edith: Person, grace: Person
    ) -> None:
        is_made(api, platform, edith, "admin")
        for person in (edith, grace):
            assert self.request_both_changes(api, organization, platform, person)[0].status == 200

    def test_is_set_by_keys_that_may_change_platforms(self, api: Api, organization: Founded, platform: Running) -> None:
        for scopes in (["write"], ["sites:write"], ["sites:write", "platforms:read"]):
            for answer in self.request_both_changes(api, organization, platform, make_key(api, organization, *scopes)):
                assert (answer.code, answer.faults) == ("403 insufficient_scope", {"/platformId": "insufficient_scope"})
        for scopes in (["admin"], ["sites:write", "platforms:write"]):
            assert (
                self.request_both_changes(api, organization, platform, make_key(api, organization, *scopes))[0].status
                == 200
            )

    def test_editors_may_keep_or_remove_the_platform(
        self, api: Api, organization: Founded, platform: Running, edith: Person
    ) -> None:
        site = make_site(api, organization, platformId=platform.id)
        answer = api.patch(site.path, as_=edith, json={"platformId": platform.id, "name": "Mills"})
        assert (answer.status, answer.json["name"]) == (200, "Mills")
        assert api.patch(site.path, as_=edith, json={"platformId": None}).status == 200

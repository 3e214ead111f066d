"""Sites: create, list, get, change, publish, delete."""

from tests.harness.api import Answer, Api
from tests.harness.callers import Caller, Person
from tests.harness.domains import came_to
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Running, is_made, run_platform
from tests.harness.sites import make_site, page_of


class TestCreateSite:
    def test_with_what_it_has_to_have_it_is_a_draft_without_pages(self, api: Api, organization: Founded) -> None:
        answer = api.post(f"{organization.path}/sites", as_=organization.owner, json={"name": "All about Looms"})
        told = {name: v for name, v in answer.json.items() if name not in ("id", "createdAt", "updatedAt")}
        assert told == {
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

    def test_its_slug_is_unique_in_the_service(self, api: Api, organization: Founded, stranger: Person) -> None:
        make_site(api, organization, slug="looms")
        elsewhere = found(api, stranger, name="Mills")
        body = {"name": "Looms", "slug": "looms"}
        assert api.post(f"{elsewhere.path}/sites", as_=stranger, json=body).code == "409 slug_taken"
        assert make_site(api, elsewhere, name="Looms").record["slug"].startswith("looms-")

    def test_editors_may_and_members_may_not(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person
    ) -> None:
        body = {"name": "Looms"}
        assert api.post(f"{organization.path}/sites", as_=edith, json=body).status == 201
        assert api.post(f"{organization.path}/sites", as_=mary, json=body).code == "403 insufficient_role"
        assert api.post(f"{organization.path}/sites", as_=stranger, json=body).code == "404 not_found"

    def test_robots_hold_paths_and_lines_that_are_some(self, api: Api, organization: Founded) -> None:
        robots = {"disallow": ["/drafts", "no path", "/a b"], "extra": "Crawl-delay: 1\nnonsense"}
        answer = api.post(
            f"{organization.path}/sites", as_=organization.owner, json={"name": "Looms", "robots": robots}
        )
        assert answer.faults == {
            "/robots/disallow/1": "malformed",
            "/robots/disallow/2": "malformed",
            "/robots/extra": "malformed",
        }


class TestPlatformOfASite:
    def test_is_one_of_the_organization_and_has_one_site(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        site = make_site(api, organization, platformId=platform.id)
        body = {"name": "Another", "platformId": platform.id}
        taken = api.post(f"{organization.path}/sites", as_=organization.owner, json=body)
        assert (taken.code, set(taken.faults)) == ("409 already_exists", {"/platformId"})
        foreign = run_platform(api, found(api, stranger, name="Mills"))
        answer = api.patch(site.path, as_=site.owner, json={"platformId": foreign.id})
        assert answer.faults == {"/platformId": "unknown"}
        assert api.delete(site.path, as_=site.owner).status == 204
        assert make_site(api, organization, platformId=platform.id).record["platformId"] == platform.id

    def test_lends_its_domain_once_that_is_verified(self, api: Api, organization: Founded, platform: Running) -> None:
        site = make_site(api, organization, platformId=platform.id)
        own = site.record["host"]
        came_to(platform, "pending", "looms.example.com")
        assert api.get(site.path, as_=site.owner).json["host"] == own
        came_to(platform, "verified", "looms.example.com")
        assert api.get(site.path, as_=site.owner).json["host"] == "looms.example.com"
        assert [item["host"] for item in api.items(f"{organization.path}/sites", as_=site.owner)] == [
            "looms.example.com"
        ]


class TestListSites:
    def test_is_in_the_order_they_were_created(self, api: Api, organization: Founded, mary: Person) -> None:
        made = [make_site(api, organization, name=name).id for name in ("Looms", "Mills", "Engines")]
        assert [item["id"] for item in api.items(f"{organization.path}/sites", as_=mary, query={"limit": 2})] == made


class TestUpdateSite:
    def test_publishes_and_takes_back(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, published=False)
        published = api.patch(site.path, as_=site.owner, json={"status": "published"}).json
        assert (published["status"], published["publishedAt"]) == ("published", published["updatedAt"])
        taken_back = api.patch(site.path, as_=site.owner, json={"status": "draft"}).json
        assert (taken_back["status"], taken_back["publishedAt"]) == ("draft", None)
        api.patch(site.path, as_=site.owner, json={"name": "Looms"})
        types = [entry["type"] for entry in log_of(api, organization)]
        assert types[:4] == ["site.updated", "site.unpublished", "site.published", "site.created"]

    def test_robots_are_merged(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, robots={"disallow": ["/a"], "extra": "# why"})
        changed = api.patch(site.path, as_=site.owner, json={"robots": {"disallow": ["/b"]}}).json
        assert changed["robots"] == {"disallow": ["/b"], "extra": "# why"}

    def test_takes_no_home_that_it_finds_out_itself(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization)
        page = page_of(api, site, "Welcome")
        assert api.get(site.path, as_=site.owner).json["homePageId"] == page.id
        answer = api.patch(site.path, as_=site.owner, json={"homePageId": None})
        assert answer.faults == {"/homePageId": "read_only"}


class TestDeleteSite:
    def test_needs_an_admin(self, api: Api, organization: Founded, edith: Person, grace: Person) -> None:
        site = make_site(api, organization)
        assert api.delete(site.path, as_=edith).code == "403 insufficient_role"
        assert api.delete(site.path, as_=grace).status == 204
        assert api.get(site.path, as_=edith).code == "404 not_found"

    def test_takes_all_pages_with_it(self, api: Api, organization: Founded) -> None:
        site = make_site(api, organization, slug="looms")
        page = page_of(api, site, "Welcome")
        key = make_key(api, organization, "sites:read")
        assert api.get(page.path, as_=key).status == 200
        api.delete(site.path, as_=site.owner)
        for path in (page.path, f"{site.path}/pages", f"{site.path}/pages/home"):
            assert api.get(path, as_=key).code == "404 not_found"
        assert api.get("/sites/resolve", query={"host": site.record["host"]}).code == "404 not_found"


class TestAPlatformsSite:
    """What a platform's domain shows is for its admins to say."""

    def asked(self, api: Api, organization: Founded, platform: Running, as_: Caller) -> list[Answer]:
        """Return the answers to who creates a site on a platform, and moves one there."""
        site = make_site(api, organization, name="Elsewhere")
        body = {"name": "Here", "platformId": platform.id}
        answers = [
            api.patch(site.path, as_=as_, json={"platformId": platform.id}),
            api.post(f"{organization.path}/sites", as_=as_, json=body),
        ]
        for each in (site.path, *(answer.location for answer in answers[1:] if answer.status == 201)):
            assert api.delete(each, as_=organization.owner).status == 204
        return answers

    def test_is_none_for_editors(
        self, api: Api, organization: Founded, platform: Running, edith: Person, mary: Person
    ) -> None:
        promoted = api.patch(f"{organization.path}/members/{mary.id}", as_=organization.owner, json={"role": "editor"})
        assert promoted.status == 200
        is_made(api, platform, mary, "editor")
        for person in (edith, mary):
            for answer in self.asked(api, organization, platform, person):
                assert (answer.code, answer.faults) == ("403 insufficient_role", {"/platformId": "insufficient_role"})
                assert "'admin' on that platform" in answer.json["detail"]

    def test_is_made_by_admins_of_the_platform_or_the_organization(
        self, api: Api, organization: Founded, platform: Running, edith: Person, grace: Person
    ) -> None:
        is_made(api, platform, edith, "admin")
        for person in (edith, grace):
            assert self.asked(api, organization, platform, person)[0].status == 200

    def test_takes_a_key_that_may_change_platforms(self, api: Api, organization: Founded, platform: Running) -> None:
        for scopes in (["write"], ["sites:write"], ["sites:write", "platforms:read"]):
            for answer in self.asked(api, organization, platform, make_key(api, organization, *scopes)):
                assert (answer.code, answer.faults) == ("403 insufficient_scope", {"/platformId": "insufficient_scope"})
        for scopes in (["admin"], ["sites:write", "platforms:write"]):
            assert self.asked(api, organization, platform, make_key(api, organization, *scopes))[0].status == 200

    def test_may_be_left_and_changed_by_editors_otherwise(
        self, api: Api, organization: Founded, platform: Running, edith: Person
    ) -> None:
        site = make_site(api, organization, platformId=platform.id)
        same = api.patch(site.path, as_=edith, json={"platformId": platform.id, "name": "Mills"})
        assert (same.status, same.json["name"]) == (200, "Mills")
        assert api.patch(site.path, as_=edith, json={"platformId": None}).status == 200

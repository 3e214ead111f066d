import pytest

from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
)

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"


class TestListOrganizations:
    def test_the_callers_organizations_are_listed_in_order_of_creation(self, api, ada, mary, stranger):
        first, second, third = (create_organization(api, ada, name=name) for name in ("Zeta", "Alpha", "Mu"))
        add_organization_member(second, mary, "member")
        create_organization(api, stranger)
        assert [o["id"] for o in api.get_items("/organizations", caller=ada)] == [first.id, second.id, third.id]
        assert api.get_items("/organizations", caller=mary) == [second.record]

    def test_the_list_is_empty_for_a_user_without_organizations(self, api, organization, stranger):
        assert organization.record["status"] == "active"
        answer = api.get("/organizations", caller=stranger)
        assert answer.json == {"items": [], "nextCursor": None}
        assert "Link" not in answer.headers

    def test_operators_see_no_organization(self, api, organization, operator):
        assert api.get_items("/organizations", caller=operator) == []
        assert api.get(organization.path, caller=operator).status_and_code == "404 not_found"

    def test_a_key_sees_only_its_own_organization(self, api, ada):
        own_organization, _other = create_organization(api, ada), create_organization(api, ada)
        key = create_api_key(api, own_organization, "organizations:read")
        assert api.get_items("/organizations", caller=key) == [own_organization.record]

    def test_a_key_without_the_scope_is_rejected(self, api, organization):
        key = create_api_key(api, organization, "members:write")
        assert api.get("/organizations", caller=key).status_and_code == "403 insufficient_scope"

    def test_a_request_without_a_credential_is_rejected(self, api):
        assert api.get("/organizations").status_and_code == "401 unauthenticated"

    def test_only_the_owner_lists_a_deleted_organization(self, api, organization, ada, grace):
        api.delete(organization.path, caller=ada)
        assert api.get_items("/organizations", caller=ada) == []
        deleted = api.get_items("/organizations", caller=ada, query={"status": "pending_deletion"})
        assert [(o["id"], o["status"]) for o in deleted] == [(organization.id, "pending_deletion")]
        for status in ("active", "pending_deletion"):
            assert api.get_items("/organizations", caller=grace, query={"status": status}) == []

    def test_an_unknown_status_is_rejected(self, api, ada):
        assert api.get("/organizations", caller=ada, query={"status": "gone"}).errors == {"query/status": "not_one_of"}

    def test_former_members_do_not_list_the_organization(self, api, organization, ada, mary, edith):
        api.post(f"{organization.path}/leave", caller=mary)
        api.delete(f"{organization.path}/members/{edith.id}", caller=ada)
        assert api.get_items("/organizations", caller=mary) == []
        assert api.get_items("/organizations", caller=edith) == []

    def test_a_page_is_full_although_an_organization_was_deleted(self, api, ada):
        ids = [create_organization(api, ada).id for _ in range(7)]
        api.delete(f"/organizations/{ids[2]}", caller=ada)
        pages = api.get_pages("/organizations", caller=ada, query={"limit": 2})
        assert [o["id"] for page in pages for o in page["items"]] == [*ids[:2], *ids[3:]]
        assert [len(page["items"]) for page in pages[:3]] == [2, 2, 2]


class TestGetOrganization:
    def test_every_member_reads_the_organization(self, api, organization, ada, grace, edith, mary):
        for person in (ada, grace, edith, mary):
            assert api.get(organization.path, caller=person).json == organization.record

    def test_foreign_and_unknown_organizations_get_the_same_response(self, api, organization, stranger):
        foreign = api.get(organization.path, caller=stranger)
        missing = api.get(f"/organizations/{UNKNOWN_ID}", caller=stranger)
        assert foreign.json["code"] == "not_found"
        assert foreign.comparable_problem == missing.comparable_problem

    @pytest.mark.parametrize(
        "name", ["x", "1", "null", "%20", "..", "%2e%2e", "%00", "a" * 300, "%F0%9F%9A%82", UNKNOWN_ID + "0"]
    )
    def test_a_malformed_id_is_not_found(self, api, ada, name):
        assert api.get(f"/organizations/{name}", caller=ada).status_and_code == "404 not_found"

    def test_an_id_in_upper_case_is_found(self, api, organization, ada):
        assert api.get(f"/organizations/{organization.id.upper()}", caller=ada).json == organization.record

    def test_a_key_of_another_organization_gets_not_found(self, api, organization, ada):
        foreign = create_api_key(api, create_organization(api, ada), "admin")
        assert api.get(organization.path, caller=foreign).status_and_code == "404 not_found"

    def test_a_trailing_slash_is_ignored(self, api, organization, ada):
        assert api.get(f"{organization.path}/", caller=ada).json == organization.record


class TestGetOrganizationBySlug:
    def test_members_find_the_organization_by_its_slug(self, api, ada):
        organization = create_organization(api, ada, slug="engines")
        by_slug, by_id = api.get("/organizations/by-slug/engines", caller=ada), api.get(organization.path, caller=ada)
        assert (by_slug.status, by_slug.json, by_slug.etag) == (200, by_id.json, by_id.etag)

    def test_others_do_not_find_the_organization(self, api, ada, stranger):
        create_organization(api, ada, slug="engines")
        foreign = api.get("/organizations/by-slug/engines", caller=stranger)
        missing = api.get("/organizations/by-slug/nothing", caller=stranger)
        assert foreign.status_and_code == missing.status_and_code == "404 not_found"
        assert foreign.json["detail"] == missing.json["detail"]

    @pytest.mark.parametrize("slug", ["Engines", "a--b", "-", "%20", "a" * 64])
    def test_a_malformed_slug_is_not_found(self, api, ada, slug):
        assert api.get(f"/organizations/by-slug/{slug}", caller=ada).status_and_code == "404 not_found"

    def test_a_key_finds_only_its_own_organization(self, api, ada):
        own_organization, _ = create_organization(api, ada, slug="own"), create_organization(api, ada, slug="other")
        key = create_api_key(api, own_organization, "read")
        assert api.get("/organizations/by-slug/own", caller=key).status == 200
        assert api.get("/organizations/by-slug/other", caller=key).status_and_code == "404 not_found"


class TestFormerSlugs:
    def test_a_former_slug_redirects_to_the_current_one(self, api, ada):
        organization = create_organization(api, ada, slug="first")
        api.patch(organization.path, caller=ada, json={"slug": "second"})
        response = api.get("/organizations/by-slug/first", caller=ada)
        assert response.status == 301
        assert response.headers["Location"] == "/api/organizations/by-slug/second"
        assert api.get(response.location, caller=ada).json["id"] == organization.id
        assert api.get("/organizations/by-slug/f%69rst", caller=ada).location == response.location

    def test_every_former_slug_redirects_in_one_step(self, api, ada):
        organization = create_organization(api, ada, slug="first")
        for slug in ("second", "third", "fourth"):
            api.patch(organization.path, caller=ada, json={"slug": slug})
        for slug in ("first", "second", "third"):
            assert api.get(f"/organizations/by-slug/{slug}", caller=ada).location == "/organizations/by-slug/fourth"

    def test_strangers_are_not_redirected(self, api, ada, stranger):
        organization = create_organization(api, ada, slug="first")
        api.patch(organization.path, caller=ada, json={"slug": "second"})
        assert api.get("/organizations/by-slug/first", caller=stranger).status_and_code == "404 not_found"

    def test_a_former_slug_redirects_for_90_days(self, api, ada, clock):
        organization = create_organization(api, ada, slug="first")
        api.patch(organization.path, caller=ada, json={"slug": "second"})
        clock.shift(days=90, minutes=-1)
        assert api.get("/organizations/by-slug/first", caller=ada).status == 301
        clock.shift(minutes=2)
        assert api.get("/organizations/by-slug/first", caller=ada).status_and_code == "404 not_found"
        assert api.get("/organizations/by-slug/second", caller=ada).status == 200

    def test_a_former_slug_is_reserved_for_90_days(self, api, ada, stranger, clock):
        organization = create_organization(api, ada, slug="first")
        api.patch(organization.path, caller=ada, json={"slug": "second"})
        body = {"name": "Mine", "slug": "first"}
        assert api.post("/organizations", caller=stranger, json=body).status_and_code == "409 slug_taken"
        clock.shift(days=90, minutes=1)
        assert api.post("/organizations", caller=stranger, json=body).status == 201
        assert api.get("/organizations/by-slug/first", caller=ada).status_and_code == "404 not_found"
        assert api.get("/organizations/by-slug/first", caller=stranger).status == 200

    def test_an_organization_can_take_back_its_former_slug(self, api, ada):
        organization = create_organization(api, ada, slug="first")
        for slug in ("second", "first"):
            assert api.patch(organization.path, caller=ada, json={"slug": slug}).json["slug"] == slug
        assert api.get("/organizations/by-slug/first", caller=ada).status == 200
        assert api.get("/organizations/by-slug/second", caller=ada).location == "/organizations/by-slug/first"

    def test_a_slug_that_was_taken_back_stays_reserved_while_in_use(self, api, ada, stranger, clock):
        organization = create_organization(api, ada, slug="first")
        for slug in ("second", "first"):
            api.patch(organization.path, caller=ada, json={"slug": slug})
        clock.shift(days=91)
        assert (
            api.post("/organizations", caller=stranger, json={"name": "x", "slug": "first"}).status_and_code
            == "409 slug_taken"
        )
        assert api.get("/organizations/by-slug/first", caller=ada).status == 200

    def test_a_derived_slug_avoids_former_slugs(self, api, ada, stranger):
        organization = create_organization(api, ada, slug="engines")
        api.patch(organization.path, caller=ada, json={"slug": "other"})
        assert create_organization(api, stranger, name="Engines").record["slug"].startswith("engines-")

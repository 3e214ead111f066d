import pytest

from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    leave_organization,
    remove_member,
)

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
MALFORMED_IDS = ["x", "1", "null", "%20", "..", "%2e%2e", "%00", "a" * 300, "%F0%9F%9A%82", UNKNOWN_ID + "0"]
BY_SLUG = "/organizations/by-slug"


class TestListOrganizations:
    def test_the_callers_organizations_are_listed_in_order_of_creation(self, api, ada, mary, edith, stranger, operator):
        first, second, third = (create_organization(api, ada, name=name) for name in ("Zeta", "Alpha", "Mu"))
        add_organization_member(second, mary, "member")
        create_organization(api, stranger)
        assert [o["id"] for o in api.get_items("/organizations", caller=ada)] == [first.id, second.id, third.id]
        assert api.get_items("/organizations", caller=mary) == [second.record]
        key = create_api_key(api, second, "organizations:read")
        assert api.get_items("/organizations", caller=key) == [second.record]
        assert api.get_items("/organizations", caller=operator) == []
        empty = api.get("/organizations", caller=edith)
        assert (empty.json, "Link" in empty.headers) == ({"items": [], "nextCursor": None}, False)

    def test_only_the_owner_lists_a_deleted_organization(self, api, organization, ada, grace):
        api.delete(organization.path, caller=ada)
        assert api.get_items("/organizations", caller=ada) == []
        deleted = api.get_items("/organizations", caller=ada, query={"status": "pending_deletion"})
        assert [(o["id"], o["status"]) for o in deleted] == [(organization.id, "pending_deletion")]
        for status in ("active", "pending_deletion"):
            assert api.get_items("/organizations", caller=grace, query={"status": status}) == []
        assert api.get("/organizations", caller=ada, query={"status": "gone"}).errors == {"query/status": "not_one_of"}

    def test_former_members_do_not_list_the_organization(self, api, organization, mary, edith):
        leave_organization(api, organization, mary)
        remove_member(api, organization, edith)
        assert [api.get_items("/organizations", caller=person) for person in (mary, edith)] == [[], []]

    def test_a_page_is_full_although_an_organization_was_deleted(self, api, ada):
        ids = [create_organization(api, ada).id for _ in range(7)]
        api.delete(f"/organizations/{ids[2]}", caller=ada)
        pages = api.get_pages("/organizations", caller=ada, query={"limit": 2})
        assert [o["id"] for page in pages for o in page["items"]] == [*ids[:2], *ids[3:]]
        assert [len(page["items"]) for page in pages[:3]] == [2, 2, 2]


def test_every_member_reads_the_organization_in_any_spelling_of_its_path(api, organization, mary):
    for path in (organization.path, f"/organizations/{organization.id.upper()}", f"{organization.path}/"):
        assert api.get(path, caller=mary).json == organization.record


def test_a_malformed_id_or_slug_is_not_found(api, ada):
    slugs = ["Engines", "a--b", "-", "%20", "a" * 64]
    for path in (*(f"/organizations/{name}" for name in MALFORMED_IDS), *(f"{BY_SLUG}/{slug}" for slug in slugs)):
        assert api.get(path, caller=ada).status_and_code == "404 not_found", path


def test_only_members_and_keys_find_the_organization_by_its_slug(api, ada, stranger):
    organization, _ = create_organization(api, ada, slug="engines"), create_organization(api, ada, slug="other")
    by_slug, by_id = api.get(f"{BY_SLUG}/engines", caller=ada), api.get(organization.path, caller=ada)
    assert (by_slug.status, by_slug.json, by_slug.etag) == (200, by_id.json, by_id.etag)
    key = create_api_key(api, organization, "read")
    assert api.get(f"{BY_SLUG}/engines", caller=key).status == 200
    assert api.get(f"{BY_SLUG}/other", caller=key).status_and_code == "404 not_found"
    foreign, missing = (api.get(f"{BY_SLUG}/{slug}", caller=stranger) for slug in ("engines", "nothing"))
    assert foreign.status_and_code == missing.status_and_code == "404 not_found"
    assert foreign.json["detail"] == missing.json["detail"]


class TestFormerSlugs:
    @pytest.fixture
    def rename(self, api, ada):
        """A function that changes the slug of an organization."""
        return lambda organization, slug: api.patch(organization.path, caller=ada, json={"slug": slug})

    @pytest.fixture
    def renamed(self, api, ada, rename):
        """An organization whose slug was `first` and is now `second`."""
        organization = create_organization(api, ada, slug="first")
        rename(organization, "second")
        return organization

    def test_every_former_slug_redirects_members_to_the_current_one(self, api, ada, stranger, renamed, rename):
        answer = api.get(f"{BY_SLUG}/first", caller=ada)
        assert (answer.status, answer.headers["Location"]) == (301, "/api/organizations/by-slug/second")
        assert api.get(answer.location, caller=ada).json["id"] == renamed.id
        assert api.get(f"{BY_SLUG}/f%69rst", caller=ada).location == answer.location
        assert api.get(f"{BY_SLUG}/first", caller=stranger).status_and_code == "404 not_found"
        for slug in ("third", "fourth"):
            rename(renamed, slug)
        for slug in ("first", "second", "third"):
            assert api.get(f"{BY_SLUG}/{slug}", caller=ada).location == f"{BY_SLUG}/fourth"

    def test_a_former_slug_redirects_and_is_reserved_for_90_days(self, api, ada, stranger, renamed, clock):
        body = {"name": "Mine", "slug": "first"}
        clock.shift(days=90, minutes=-1)
        assert api.get(f"{BY_SLUG}/first", caller=ada).status == 301
        assert api.post("/organizations", caller=stranger, json=body).status_and_code == "409 slug_taken"
        clock.shift(minutes=2)
        assert api.get(f"{BY_SLUG}/first", caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{BY_SLUG}/second", caller=ada).status == 200
        assert api.post("/organizations", caller=stranger, json=body).status == 201
        assert api.get(f"{BY_SLUG}/first", caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{BY_SLUG}/first", caller=stranger).status == 200

    def test_a_former_slug_that_was_taken_back_is_reserved(self, api, ada, stranger, renamed, rename, clock):
        assert rename(renamed, "first").json["slug"] == "first"
        assert api.get(f"{BY_SLUG}/first", caller=ada).status == 200
        assert api.get(f"{BY_SLUG}/second", caller=ada).location == f"{BY_SLUG}/first"
        clock.shift(days=91)
        body = {"name": "x", "slug": "first"}
        assert api.post("/organizations", caller=stranger, json=body).status_and_code == "409 slug_taken"
        assert api.get(f"{BY_SLUG}/first", caller=ada).status == 200

    @pytest.mark.usefixtures("renamed")
    def test_a_derived_slug_avoids_former_slugs(self, api, stranger):
        assert create_organization(api, stranger, name="First").record["slug"].startswith("first-")

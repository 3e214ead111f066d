"""Platforms: create, list, get, change, delete."""

import json

import pytest

from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import add_platform_member, add_space_member, create_platform, create_space

EMPTY_THEME: Json = {"mode": None, "colors": {}, "fonts": {}, "logoUrl": None, "faviconUrl": None, "tokens": {}}


class TestCreatePlatform:
    def test_a_minimal_request_creates_a_draft_by_invitation(self, api, organization):
        body = {"organizationId": organization.id, "name": "Engines"}
        answer = api.post("/platforms", caller=organization.owner, json=body)
        assert answer.status == 201
        assert answer.location == f"/platforms/{answer.json['id']}"
        fields = {name: value for name, value in answer.json.items() if name not in ("id", "createdAt", "updatedAt")}
        assert fields == {
            "version": 1,
            "organizationId": organization.id,
            "name": "Engines",
            "slug": "engines",
            "description": None,
            "joinPolicy": "invite",
            "defaultLocale": "en",
            "status": "draft",
            "publishedAt": None,
            "subdomain": "engines",
            "theme": EMPTY_THEME,
            "navigation": {"items": []},
            "home": {"layout": None, "blocks": [], "spaceId": None, "siteId": None},
            "warnings": [],
        }
        assert api.get(answer.location, caller=organization.owner).json == answer.json

    def test_every_field_can_be_given(self, api, organization):
        fields: Json = {"slug": "mill", "description": "Mills.", "joinPolicy": "open", "defaultLocale": "pt-BR"}
        record = create_platform(api, organization, **fields).record
        assert {name: record[name] for name in fields} == fields

    def test_a_slug_is_unique_in_the_service_and_a_derived_one_gets_a_suffix(self, api, organization, stranger):
        create_platform(api, organization, name="Engines")
        rivals = create_organization(api, stranger, name="Rivals")
        body = {"organizationId": rivals.id, "name": "Engines", "slug": "engines"}
        conflict = api.post("/platforms", caller=stranger, json=body)
        assert (conflict.status_and_code, set(conflict.errors)) == ("409 slug_taken", {"/slug"})
        assert create_platform(api, rivals, name="Engines").record["slug"].startswith("engines-")

    def test_only_admins_of_the_organization_create_platforms(self, api, organization, grace, edith, stranger):
        body = {"organizationId": organization.id, "name": "Engines"}
        assert api.post("/platforms", caller=grace, json=body).status == 201
        assert api.post("/platforms", caller=edith, json=body).status_and_code == "403 insufficient_role"
        assert api.post("/platforms", caller=stranger, json=body).status_and_code == "404 not_found"

    def test_invalid_fields_are_rejected_together(self, api, organization):
        body = {"organizationId": organization.id, "name": " ", "slug": "A", "joinPolicy": "all", "defaultLocale": "!"}
        answer = api.post("/platforms", caller=organization.owner, json=body)
        assert answer.errors == {
            "/name": "too_short",
            "/slug": "malformed",
            "/joinPolicy": "not_one_of",
            "/defaultLocale": "malformed",
        }
        for fields in ({}, {"name": "Engines"}, {"organizationId": None, "name": "Engines"}):
            answer = api.post("/platforms", caller=organization.owner, json=fields)
            assert answer.errors["/organizationId"] == "required"


class TestListPlatforms:
    def test_platforms_of_the_callers_organizations_are_listed_in_order_of_creation(
        self, api, organization, ada, mary, stranger
    ):
        other = create_organization(api, ada, name="Other")
        ids = [
            create_platform(api, owning_organization, name=f"P{n}").id
            for n, owning_organization in enumerate([organization, other, organization])
        ]
        create_platform(api, create_organization(api, stranger, name="Rivals"))
        for limit in (1, 2, 100):
            pages = api.get_pages("/platforms", caller=ada, query={"limit": limit})
            assert [item["id"] for page in pages for item in page["items"]] == ids
        assert [item["id"] for item in api.get_items("/platforms", caller=mary)] == [ids[0], ids[2]]

    def test_platforms_with_an_own_membership_are_listed_once(self, api, organization, ada, mary, stranger):
        rivals = create_organization(api, stranger, name="Rivals")
        joined_platform, own_platform, foreign_platform = (
            create_platform(api, rivals),
            create_platform(api, organization),
            create_platform(api, rivals),
        )
        for platform in (joined_platform, own_platform):
            add_platform_member(platform, mary)
        for limit in (1, 2, 100):
            listed = api.get_items("/platforms", caller=mary, query={"limit": limit})
            assert [item["id"] for item in listed] == [joined_platform.id, own_platform.id]
        assert foreign_platform.id not in {item["id"] for item in api.get_items("/platforms", caller=ada)}

    def test_long_fields_are_not_listed(self, api, organization, ada):
        record = create_platform(api, organization).record
        (item,) = api.get_items("/platforms", caller=ada)
        assert item == {n: v for n, v in record.items() if n not in ("theme", "navigation", "home", "warnings")}

    def test_platforms_are_filtered_by_organization_and_status(self, api, organization, ada, stranger):
        rivals, other = create_organization(api, stranger, name="Rivals"), create_organization(api, ada, name="Other")
        draft, public = create_platform(api, organization), create_platform(api, organization, publish=True)
        other_platform, foreign_platform = create_platform(api, other), create_platform(api, rivals, publish=True)
        add_platform_member(foreign_platform, ada)

        def list_ids(**query: str) -> list[str]:
            return [item["id"] for item in api.get_items("/platforms", caller=ada, query=query)]

        assert list_ids(organizationId=organization.id) == [draft.id, public.id]
        assert list_ids(organizationId=rivals.id) == [foreign_platform.id]
        assert list_ids(status="published") == [public.id, foreign_platform.id]
        assert list_ids(status="draft", organizationId=other.id) == [other_platform.id]

    def test_an_api_key_lists_the_platforms_of_its_organization(self, api, organization, ada):
        own_platform = create_platform(api, organization)
        create_platform(api, create_organization(api, ada, name="Other"))
        key = create_api_key(api, organization, "platforms:read")
        assert [item["id"] for item in api.get_items("/platforms", caller=key)] == [own_platform.id]

    def test_platforms_of_a_deleted_organization_are_not_listed(self, api, organization, ada, mary):
        platform = create_platform(api, organization)
        add_platform_member(platform, mary)
        api.delete(organization.path, caller=ada)
        for person in (ada, mary):
            assert api.get_items("/platforms", caller=person) == []


class TestGetPlatform:
    def test_members_of_the_organization_and_of_the_platform_read_it(self, api, organization, mary, stranger, issuer):
        platform, guest = create_platform(api, organization), issuer.create_person("guest", "Guest")
        add_platform_member(platform, guest)
        for person in (mary, guest):
            assert api.get(platform.path, caller=person).json == platform.record
        assert api.get(platform.path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(platform.path).status_and_code == "401 unauthenticated"

    def test_a_platform_of_a_deleted_organization_is_not_found(self, api, organization, ada):
        platform = create_platform(api, organization)
        assert api.get(platform.path, caller=ada).status == 200
        api.delete(organization.path, caller=ada)
        assert api.get(platform.path, caller=ada).status_and_code == "404 not_found"


class TestUpdatePlatform:
    def test_given_fields_change_and_others_stay(self, api, organization):
        platform = create_platform(api, organization, description="Old")
        change = {"name": "Mills", "slug": "mills", "joinPolicy": "open"}
        answer = api.patch(platform.path, caller=platform.owner, json=change)
        expected = {**platform.record, **change, "subdomain": "mills", "version": 2}
        assert answer.json == {**expected, "updatedAt": answer.json["updatedAt"]}

    def test_the_domain_inventory_is_updated(self, api, organization):
        platform = create_platform(api, organization)
        api.patch(platform.path, caller=platform.owner, json={"name": "Mills", "slug": "mills"})
        (entry,) = api.get_items(f"{organization.path}/domains/inventory", caller=platform.owner)
        assert (entry["platformName"], entry["platformSlug"], entry["subdomain"]) == ("Mills", "mills", "mills")

    def test_the_organization_cannot_change(self, api, organization):
        platform = create_platform(api, organization)
        response = api.patch(platform.path, caller=platform.owner, json={"organizationId": organization.id})
        other = api.patch(
            platform.path, caller=platform.owner, json={"organizationId": platform.id, "status": "published"}
        )
        assert (response.status, response.json) == (200, platform.record)
        assert other.errors == {"/organizationId": "read_only", "/status": "read_only"}

    def test_admins_of_the_platform_change_it(self, api, organization, edith, mary):
        platform = create_platform(api, organization)
        add_platform_member(platform, mary, "admin")
        add_platform_member(platform, edith, "editor")
        assert api.patch(platform.path, caller=mary, json={"name": "Mary's"}).status == 200
        assert (
            api.patch(platform.path, caller=edith, json={"name": "Edith's"}).status_and_code == "403 insufficient_role"
        )


class TestDeletePlatform:
    def test_a_deleted_platform_is_not_found_at_once_and_its_slug_is_free(self, api, organization, ada):
        platform = create_platform(api, organization, slug="mill")
        space = create_space(api, platform)
        answer = api.delete(platform.path, caller=ada)
        assert (answer.status, answer.text) == (204, "")
        for path in (platform.path, f"{platform.path}/spaces", space.path):
            assert api.get(path, caller=ada).status_and_code == "404 not_found"
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", caller=ada, json=body).status_and_code == "404 not_found"
        assert api.get_items("/platforms", caller=ada) == []
        assert api.get_items(f"{organization.path}/domains/inventory", caller=ada) == []
        assert create_platform(api, organization, slug="mill").record["slug"] == "mill"

    def test_only_admins_of_the_organization_delete_a_platform(self, api, organization, grace, mary):
        platform = create_platform(api, organization)
        add_platform_member(platform, mary, "admin")
        assert api.delete(platform.path, caller=mary).status_and_code == "403 insufficient_role"
        assert api.delete(platform.path, caller=grace).status == 204

    def test_the_contents_of_a_deleted_platform_are_removed(self, api, organization, ada, mary, workers, clock):
        platform = create_platform(api, organization)
        for n in range(12):
            add_space_member(create_space(api, platform, name=f"Space {n}"), mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        api.delete(platform.path, caller=ada)
        workers.run_until_idle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"Z", "A"}, "the job, the log, and nothing else"
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"A"}
        assert list_entries(api, organization)[0]["type"] == "platform.deleted"

    def test_a_concurrent_write_into_a_deleted_platform_is_removed(self, api, organization, ada, mary, workers, clock):
        platform = create_platform(api, organization)
        space = create_space(api, platform)
        api.delete(platform.path, caller=ada)
        workers.run_until_idle()
        add_space_member(space, mary)
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert {pk[0] for pk in partitions_with(platform.id)} <= {"A", "S"}

    def test_a_platform_is_purged_with_its_organization(self, api, organization, ada, mary, workers, clock):
        platform = create_platform(api, organization)
        add_space_member(create_space(api, platform), mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        api.delete(organization.path, caller=ada)
        clock.shift(days=30, minutes=5)
        workers.run_until_idle()
        workers.run_until_idle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"A"}


def partitions_with(record_id: str) -> list[str]:
    """Return the partitions of all items that contain the id of a record."""
    return [item["pk"] for item in memory_aws.all_items() if record_id in json.dumps(item, default=repr)]


@pytest.mark.parametrize("path", ["", "/publish", "/theme", "/home", "/navigation"])
def test_if_match_rejects_a_changed_platform(api, organization, path):
    platform = create_platform(api, organization)
    etag = api.get(platform.path, caller=platform.owner).etag
    api.patch(platform.path, caller=platform.owner, json={"name": "Mills"})
    answer = api.patch(f"{platform.path}{path}", caller=platform.owner, json={}, headers={"If-Match": etag})
    assert answer.status_and_code == "412 precondition_failed"

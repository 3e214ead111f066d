"""Platforms: create, list, get, change, delete."""

import json

import pytest

from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import comes_in, make_space, run_platform, takes_part
from tests.harness.workers import Workers

EMPTY_THEME: Json = {"mode": None, "colors": {}, "fonts": {}, "logoUrl": None, "faviconUrl": None, "tokens": {}}


class TestCreatePlatform:
    def test_a_minimal_request_creates_a_draft_by_invitation(self, api: Api, organization: Founded) -> None:
        body = {"organizationId": organization.id, "name": "Engines"}
        answer = api.post("/platforms", as_=organization.owner, json=body)
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
        assert api.get(answer.location, as_=organization.owner).json == answer.json

    def test_every_field_can_be_given(self, api: Api, organization: Founded) -> None:
        fields: Json = {"slug": "mill", "description": "Mills.", "joinPolicy": "open", "defaultLocale": "pt-BR"}
        record = run_platform(api, organization, **fields).record
        assert {name: record[name] for name in fields} == fields

    def test_a_slug_is_unique_in_the_service_and_a_derived_one_gets_a_suffix(
        self, api: Api, organization: Founded, stranger: Person
    ) -> None:
        run_platform(api, organization, name="Engines")
        rivals = found(api, stranger, name="Rivals")
        body = {"organizationId": rivals.id, "name": "Engines", "slug": "engines"}
        conflict = api.post("/platforms", as_=stranger, json=body)
        assert (conflict.code, set(conflict.faults)) == ("409 slug_taken", {"/slug"})
        assert run_platform(api, rivals, name="Engines").record["slug"].startswith("engines-")

    def test_only_admins_of_the_organization_create_platforms(
        self, api: Api, organization: Founded, grace: Person, edith: Person, stranger: Person
    ) -> None:
        body = {"organizationId": organization.id, "name": "Engines"}
        assert api.post("/platforms", as_=grace, json=body).status == 201
        assert api.post("/platforms", as_=edith, json=body).code == "403 insufficient_role"
        assert api.post("/platforms", as_=stranger, json=body).code == "404 not_found"

    def test_invalid_fields_are_rejected_together(self, api: Api, organization: Founded) -> None:
        body = {"organizationId": organization.id, "name": " ", "slug": "A", "joinPolicy": "all", "defaultLocale": "!"}
        answer = api.post("/platforms", as_=organization.owner, json=body)
        assert answer.faults == {
            "/name": "too_short",
            "/slug": "malformed",
            "/joinPolicy": "not_one_of",
            "/defaultLocale": "malformed",
        }
        for fields in ({}, {"name": "Engines"}, {"organizationId": None, "name": "Engines"}):
            answer = api.post("/platforms", as_=organization.owner, json=fields)
            assert answer.faults["/organizationId"] == "required"


class TestListPlatforms:
    def test_platforms_of_the_callers_organizations_are_listed_in_order_of_creation(
        self, api: Api, organization: Founded, ada: Person, mary: Person, stranger: Person
    ) -> None:
        other = found(api, ada, name="Other")
        ids = [
            run_platform(api, owning_organization, name=f"P{n}").id
            for n, owning_organization in enumerate([organization, other, organization])
        ]
        run_platform(api, found(api, stranger, name="Rivals"))
        for limit in (1, 2, 100):
            pages = api.pages("/platforms", as_=ada, query={"limit": limit})
            assert [item["id"] for page in pages for item in page["items"]] == ids
        assert [item["id"] for item in api.items("/platforms", as_=mary)] == [ids[0], ids[2]]

    def test_platforms_with_an_own_membership_are_listed_once(
        self, api: Api, organization: Founded, ada: Person, mary: Person, stranger: Person
    ) -> None:
        rivals = found(api, stranger, name="Rivals")
        joined_platform, own_platform, foreign_platform = (
            run_platform(api, rivals),
            run_platform(api, organization),
            run_platform(api, rivals),
        )
        for platform in (joined_platform, own_platform):
            takes_part(platform, mary)
        for limit in (1, 2, 100):
            listed = api.items("/platforms", as_=mary, query={"limit": limit})
            assert [item["id"] for item in listed] == [joined_platform.id, own_platform.id]
        assert foreign_platform.id not in {item["id"] for item in api.items("/platforms", as_=ada)}

    def test_long_fields_are_not_listed(self, api: Api, organization: Founded, ada: Person) -> None:
        record = run_platform(api, organization).record
        (item,) = api.items("/platforms", as_=ada)
        assert item == {n: v for n, v in record.items() if n not in ("theme", "navigation", "home", "warnings")}

    def test_platforms_are_filtered_by_organization_and_status(
        self, api: Api, organization: Founded, ada: Person, stranger: Person
    ) -> None:
        rivals, other = found(api, stranger, name="Rivals"), found(api, ada, name="Other")
        draft, public = run_platform(api, organization), run_platform(api, organization, published=True)
        other_platform, foreign_platform = run_platform(api, other), run_platform(api, rivals, published=True)
        takes_part(foreign_platform, ada)

        def list_ids(**query: str) -> list[str]:
            return [item["id"] for item in api.items("/platforms", as_=ada, query=query)]

        assert list_ids(organizationId=organization.id) == [draft.id, public.id]
        assert list_ids(organizationId=rivals.id) == [foreign_platform.id]
        assert list_ids(status="published") == [public.id, foreign_platform.id]
        assert list_ids(status="draft", organizationId=other.id) == [other_platform.id]

    def test_an_api_key_lists_the_platforms_of_its_organization(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        own_platform = run_platform(api, organization)
        run_platform(api, found(api, ada, name="Other"))
        key = make_key(api, organization, "platforms:read")
        assert [item["id"] for item in api.items("/platforms", as_=key)] == [own_platform.id]

    def test_platforms_of_a_deleted_organization_are_not_listed(
        self, api: Api, organization: Founded, ada: Person, mary: Person
    ) -> None:
        platform = run_platform(api, organization)
        takes_part(platform, mary)
        api.delete(organization.path, as_=ada)
        for person in (ada, mary):
            assert api.items("/platforms", as_=person) == []


class TestGetPlatform:
    def test_members_of_the_organization_and_of_the_platform_read_it(
        self, api: Api, organization: Founded, mary: Person, stranger: Person, issuer: Issuer
    ) -> None:
        platform, guest = run_platform(api, organization), issuer.person("guest", "Guest")
        takes_part(platform, guest)
        for person in (mary, guest):
            assert api.get(platform.path, as_=person).json == platform.record
        assert api.get(platform.path, as_=stranger).code == "404 not_found"
        assert api.get(platform.path).code == "401 unauthenticated"

    def test_a_platform_of_a_deleted_organization_is_not_found(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        platform = run_platform(api, organization)
        assert api.get(platform.path, as_=ada).status == 200
        api.delete(organization.path, as_=ada)
        assert api.get(platform.path, as_=ada).code == "404 not_found"


class TestUpdatePlatform:
    def test_given_fields_change_and_others_stay(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization, description="Old")
        change = {"name": "Mills", "slug": "mills", "joinPolicy": "open"}
        answer = api.patch(platform.path, as_=platform.owner, json=change)
        expected = {**platform.record, **change, "subdomain": "mills", "version": 2}
        assert answer.json == {**expected, "updatedAt": answer.json["updatedAt"]}

    def test_the_domain_inventory_is_updated(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization)
        api.patch(platform.path, as_=platform.owner, json={"name": "Mills", "slug": "mills"})
        (entry,) = api.items(f"{organization.path}/domains/inventory", as_=platform.owner)
        assert (entry["platformName"], entry["platformSlug"], entry["subdomain"]) == ("Mills", "mills", "mills")

    def test_the_organization_cannot_change(self, api: Api, organization: Founded) -> None:
        platform = run_platform(api, organization)
        response = api.patch(platform.path, as_=platform.owner, json={"organizationId": organization.id})
        other = api.patch(
            platform.path, as_=platform.owner, json={"organizationId": platform.id, "status": "published"}
        )
        assert (response.status, response.json) == (200, platform.record)
        assert other.faults == {"/organizationId": "read_only", "/status": "read_only"}

    def test_admins_of_the_platform_change_it(
        self, api: Api, organization: Founded, edith: Person, mary: Person
    ) -> None:
        platform = run_platform(api, organization)
        takes_part(platform, mary, "admin")
        takes_part(platform, edith, "editor")
        assert api.patch(platform.path, as_=mary, json={"name": "Mary's"}).status == 200
        assert api.patch(platform.path, as_=edith, json={"name": "Edith's"}).code == "403 insufficient_role"


class TestDeletePlatform:
    def test_a_deleted_platform_is_not_found_at_once_and_its_slug_is_free(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        platform = run_platform(api, organization, slug="mill")
        space = make_space(api, platform)
        answer = api.delete(platform.path, as_=ada)
        assert (answer.status, answer.text) == (204, "")
        for path in (platform.path, f"{platform.path}/spaces", space.path):
            assert api.get(path, as_=ada).code == "404 not_found"
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", as_=ada, json=body).code == "404 not_found"
        assert api.items("/platforms", as_=ada) == []
        assert api.items(f"{organization.path}/domains/inventory", as_=ada) == []
        assert run_platform(api, organization, slug="mill").record["slug"] == "mill"

    def test_only_admins_of_the_organization_delete_a_platform(
        self, api: Api, organization: Founded, grace: Person, mary: Person
    ) -> None:
        platform = run_platform(api, organization)
        takes_part(platform, mary, "admin")
        assert api.delete(platform.path, as_=mary).code == "403 insufficient_role"
        assert api.delete(platform.path, as_=grace).status == 204

    def test_the_contents_of_a_deleted_platform_are_removed(
        self, api: Api, organization: Founded, ada: Person, mary: Person, workers: Workers, clock: Clock
    ) -> None:
        platform = run_platform(api, organization)
        for n in range(12):
            comes_in(make_space(api, platform, name=f"Space {n}"), mary)
        takes_part(platform, mary)
        workers.settle()
        api.delete(platform.path, as_=ada)
        workers.settle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"Z", "A"}, "the job, the log, and nothing else"
        clock.shift(minutes=2)
        workers.settle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"A"}
        assert log_of(api, organization)[0]["type"] == "platform.deleted"

    def test_a_concurrent_write_into_a_deleted_platform_is_removed(
        self, api: Api, organization: Founded, ada: Person, mary: Person, workers: Workers, clock: Clock
    ) -> None:
        platform = run_platform(api, organization)
        space = make_space(api, platform)
        api.delete(platform.path, as_=ada)
        workers.settle()
        comes_in(space, mary)
        clock.shift(minutes=2)
        workers.settle()
        assert {pk[0] for pk in partitions_with(platform.id)} <= {"A", "S"}

    def test_a_platform_is_purged_with_its_organization(
        self, api: Api, organization: Founded, ada: Person, mary: Person, workers: Workers, clock: Clock
    ) -> None:
        platform = run_platform(api, organization)
        comes_in(make_space(api, platform), mary)
        takes_part(platform, mary)
        workers.settle()
        api.delete(organization.path, as_=ada)
        clock.shift(days=30, minutes=5)
        workers.settle()
        workers.settle()
        assert {pk[0] for pk in partitions_with(platform.id)} == {"A"}


def partitions_with(record_id: str) -> list[str]:
    """Return the partitions of all items that contain the id of a record."""
    return [item["pk"] for item in cloud.stored() if record_id in json.dumps(item, default=repr)]


@pytest.mark.parametrize("path", ["", "/publish", "/theme", "/home", "/navigation"])
def test_if_match_rejects_a_changed_platform(api: Api, organization: Founded, path: str) -> None:
    platform = run_platform(api, organization)
    etag = api.get(platform.path, as_=platform.owner).etag
    api.patch(platform.path, as_=platform.owner, json={"name": "Mills"})
    answer = api.patch(f"{platform.path}{path}", as_=platform.owner, json={}, headers={"If-Match": etag})
    assert answer.code == "412 precondition_failed"

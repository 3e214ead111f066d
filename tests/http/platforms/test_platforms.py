"""Platforms: create, list, get, change, delete."""

import json

import pytest

from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import add_platform_member, add_space_member

EMPTY_THEME: Json = {"mode": None, "colors": {}, "fonts": {}, "logoUrl": None, "faviconUrl": None, "tokens": {}}


@pytest.fixture
def rivals(api, stranger):
    """Another owner's organization."""
    return create_organization(api, stranger, name="Rivals")


@pytest.fixture
def list_ids(api, ada):
    """A function that lists the ids of the platforms that a caller sees."""

    def list_ids(caller: object = ada, **query: object) -> list[str]:
        return [item["id"] for item in api.get_items("/platforms", caller=caller, query=query)]

    return list_ids


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
        (item,) = api.get_items("/platforms", caller=organization.owner)
        unlisted_fields = ("theme", "navigation", "home", "warnings")
        assert item == {name: value for name, value in answer.json.items() if name not in unlisted_fields}

    def test_every_field_can_be_given(self, new_platform):
        fields: Json = {"slug": "mill", "description": "Mills.", "joinPolicy": "open", "defaultLocale": "pt-BR"}
        record = new_platform(**fields).record
        assert {name: record[name] for name in fields} == fields

    def test_a_slug_is_unique_in_the_service_and_a_derived_one_gets_a_suffix(self, api, platform, rivals, new_platform):
        assert platform.record["slug"] == "engines"
        body = {"organizationId": rivals.id, "name": "Engines", "slug": "engines"}
        conflict = api.post("/platforms", caller=rivals.owner, json=body)
        assert (conflict.status_and_code, set(conflict.errors)) == ("409 slug_taken", {"/slug"})
        assert new_platform(rivals, name="Engines").record["slug"].startswith("engines-")

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
        self, api, organization, rivals, new_platform, list_ids, ada, mary
    ):
        other = create_organization(api, ada, name="Other")
        ids = [new_platform(owner, name=f"P{n}").id for n, owner in enumerate([organization, other, organization])]
        new_platform(rivals)
        for limit in (1, 2, 100):
            assert list_ids(ada, limit=limit) == ids
        for caller in (mary, create_api_key(api, organization, "platforms:read")):
            assert list_ids(caller) == [ids[0], ids[2]]

    def test_platforms_with_an_own_membership_are_listed_once_while_their_organization_exists(
        self, api, organization, rivals, new_platform, list_ids, ada, mary
    ):
        joined, own, foreign = new_platform(rivals), new_platform(), new_platform(rivals)
        for platform in (joined, own):
            add_platform_member(platform, mary)
        for limit in (1, 2, 100):
            assert list_ids(mary, limit=limit) == [joined.id, own.id]
        assert foreign.id not in list_ids(ada)
        assert own.get().status == 200
        api.delete(organization.path, caller=ada)
        assert (list_ids(ada), list_ids(mary)) == ([], [joined.id])
        assert own.get().status_and_code == "404 not_found"

    def test_platforms_are_filtered_by_organization_and_status(
        self, api, organization, rivals, new_platform, list_ids, ada
    ):
        other = create_organization(api, ada, name="Other")
        draft, public, others_draft = new_platform(), new_platform(publish=True), new_platform(other)
        foreign = new_platform(rivals, publish=True)
        add_platform_member(foreign, ada)
        assert list_ids(organizationId=organization.id) == [draft.id, public.id]
        assert list_ids(organizationId=rivals.id) == [foreign.id]
        assert list_ids(status="published") == [public.id, foreign.id]
        assert list_ids(status="draft", organizationId=other.id) == [others_draft.id]


class TestUpdatePlatform:
    def test_given_fields_change_and_others_stay(self, new_platform):
        platform = new_platform(description="Old")
        change = {"name": "Mills", "slug": "mills", "joinPolicy": "open"}
        record = platform.update(**change)
        expected = {**platform.record, **change, "subdomain": "mills", "version": 2}
        assert record == {**expected, "updatedAt": record["updatedAt"]}

    def test_the_organization_cannot_change(self, platform):
        assert platform.update(organizationId=platform.organization_id) == platform.record
        response = platform.patch("", {"organizationId": platform.id, "status": "published"})
        assert response.errors == {"/organizationId": "read_only", "/status": "read_only"}


def kinds_of_partitions_with(record_id: str) -> set[str]:
    """Return the first letters of the partitions of all items that contain the id of a record."""
    return {item["pk"][0] for item in memory_aws.all_items() if record_id in json.dumps(item, default=repr)}


class TestDeletePlatform:
    def test_a_deleted_platform_is_not_found_at_once_and_its_slug_is_free(
        self, api, organization, rivals, new_platform, new_space, list_ids
    ):
        platform = new_platform(slug="mill")
        space = new_space(platform)
        answer = platform.delete()
        assert (answer.status, answer.text) == (204, "")
        for rejected in (platform.get(), platform.get("/spaces"), space.get(), platform.get("/config", caller=None)):
            assert rejected.status_and_code == "404 not_found"
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", caller=platform.owner, json=body).status_and_code == "404 not_found"
        assert list_ids() == api.get_items(f"{organization.path}/domains/inventory", caller=platform.owner) == []
        assert new_platform(rivals, slug="mill").record["slug"] == "mill"

    def test_the_contents_of_a_deleted_platform_are_removed(
        self, api, organization, platform, new_space, mary, workers, clock
    ):
        for n in range(12):
            add_space_member(new_space(platform, name=f"Space {n}"), mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        platform.delete()
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) == {"Z", "A"}, "the job, the log, and nothing else"
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) == {"A"}
        assert list_entries(api, organization)[0]["type"] == "platform.deleted"

    def test_a_concurrent_write_into_a_deleted_platform_is_removed(self, platform, space, mary, workers, clock):
        platform.delete()
        workers.run_until_idle()
        add_space_member(space, mary)
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) <= {"A", "S"}

    def test_a_platform_is_purged_with_its_organization(self, api, organization, platform, space, mary, workers, clock):
        add_space_member(space, mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        api.delete(organization.path, caller=organization.owner)
        clock.shift(days=30, minutes=5)
        workers.run_until_idle()
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) == {"A"}

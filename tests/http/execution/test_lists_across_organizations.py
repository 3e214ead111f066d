"""Lists across all organizations of a caller: they query 25 organizations at a time, and each record is listed once."""

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.features.research.entities import Artefact, ResearchOutput
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.membership_lists import MAX_MEMBERSHIPS
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.platforms import CreatedPlatform, add_platform_member, create_platform
from tests.harness.stored_records import new_id_and_time_fields

ORGANIZATIONS = 2 * MAX_MEMBERSHIPS + 5
LIST_PATHS = ["/platforms", "/project-blocks/showcase/platforms", "/research/artefacts", "/research/outputs"]


@pytest.fixture
def platforms(_aws: None, mary: Person, stranger: Person) -> list[CreatedPlatform]:
    """A platform in each of many organizations, of which Mary is a member, in order of creation."""
    return [_put_platform(number, mary, stranger) for number in range(ORGANIZATIONS)]


def _put_platform(number: int, member: Person, owner: Person) -> CreatedPlatform:
    """Store an organization with two members, a platform that uses a block, and research."""
    timestamp = after(now(), seconds=number - 2 * ORGANIZATIONS)
    name_fields: dict[str, Any] = {"name": f"Guild {number}", "slug": f"guild-{number}"}
    organization = Organization(
        **new_id_and_time_fields(timestamp), **name_fields, owner_id=owner.id, counts_toward_quota=True
    )
    platform = Platform(**new_id_and_time_fields(timestamp), **name_fields, organization_id=organization.id)
    block_fields: dict[str, Any] = {
        "project_block_id": "showcase",
        "title": None,
        "enabled": True,
        "settings": {},
        "position": 0,
    }
    library_fields: dict[str, Any] = {
        "library_id": organization.id,
        "organization_id": organization.id,
        "title": "Kilns",
    }
    for record in (
        organization,
        platform,
        Member.create_for_organization(new_id_and_time_fields(timestamp), organization.id, owner.to_user(), Role.OWNER),
        Member.create_for_organization(
            new_id_and_time_fields(timestamp), organization.id, member.to_user(), Role.MEMBER
        ),
        ProjectBlock(**new_id_and_time_fields(timestamp), **platform.ids_by_parameter, **block_fields),
        ResearchOutput(**new_id_and_time_fields(timestamp), **library_fields),
        Artefact(
            **new_id_and_time_fields(timestamp),
            **library_fields,
            source="dblp",
            source_id=organization.id,
            type="article",
            fetched_at=timestamp,
            content_hash="0" * 64,
            is_stale=False,
        ),
    ):
        memory_aws.put_item(record.item())
    return CreatedPlatform({"id": platform.id, "organizationId": organization.id}, owner)


def get_all_pages(api: ApiClient, path: str, caller: Person, limit: int) -> list[ApiResponse]:
    """Return all pages of a list, which can be empty before the last one."""
    answers = [api.get(path, caller=caller, query={"limit": limit})]
    while cursor := answers[-1].json["nextCursor"]:
        assert len(answers) < 1000
        answers.append(api.get(path, caller=caller, query={"limit": limit, "cursor": cursor}))
    return answers


def list_ids(answers: list[ApiResponse]) -> list[str]:
    return [item["id"] for answer in answers for item in answer.json["items"]]


@pytest.mark.parametrize("path", LIST_PATHS)
class TestEveryListAcrossOrganizations:
    def test_every_record_is_listed_once_in_order_with_limited_queries(self, api, platforms, mary, path):
        by_limit = {limit: get_all_pages(api, path, mary, limit) for limit in (7, 100)}
        for answers in by_limit.values():
            assert len(set(list_ids(answers))) == len(list_ids(answers)) == len(platforms)
            for answer in answers:
                queries = Counter(answer.calls.call_names)["dynamodb:Query"]
                assert queries <= 1 + MAX_MEMBERSHIPS + 2
        assert list_ids(by_limit[7]) == list_ids(by_limit[100])
        organizations = [platform.organization_id for platform in platforms]
        if "platforms" in path:
            listed = [item["organizationId"] for answer in by_limit[7] for item in answer.json["items"]]
            assert listed == organizations

    def test_queries_are_limited_with_a_page_of_one(self, api, platforms, mary, path):
        answer = api.get(path, caller=mary, query={"limit": 1})
        assert len(answer.json["items"]) == 1
        assert Counter(answer.calls.call_names)["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + 2
        assert platforms


class TestOrganizationGroups:
    def test_groups_follow_the_order_of_memberships_and_records_that_of_creation(self, api, platforms, mary, stranger):
        first = CreatedOrganization({"id": platforms[0].organization_id}, stranger)
        latest_platform = create_platform(api, first, name="Latest")
        listed = list_ids(get_all_pages(api, "/platforms", mary, 10))
        expected = [platform.id for platform in platforms]
        assert listed == [*expected[:MAX_MEMBERSHIPS], latest_platform.id, *expected[MAX_MEMBERSHIPS:]]

    def test_a_platform_with_its_own_membership_is_listed_once(self, api, platforms, mary, ada):
        for platform in (platforms[0], platforms[-1]):
            add_platform_member(platform, mary)
        foreign_platform = create_platform(api, create_organization(api, ada, name="Foreign"))
        add_platform_member(foreign_platform, mary)
        listed = list_ids(get_all_pages(api, "/platforms", mary, 10))
        assert sorted(listed) == sorted([foreign_platform.id, *(platform.id for platform in platforms)])
        assert listed.index(foreign_platform.id) < listed.index(platforms[MAX_MEMBERSHIPS].id)

    def test_leaving_an_organization_between_two_pages_skips_nothing_else(self, api, platforms, mary):
        first = api.get("/platforms", caller=mary, query={"limit": 20})
        former_organization_id = platforms[3].organization_id
        assert api.post(f"/organizations/{former_organization_id}/leave", caller=mary).status == 204
        later_pages: list[ApiResponse] = []
        cursor = first.json["nextCursor"]
        while cursor:
            answer = api.get("/platforms", caller=mary, query={"limit": 20, "cursor": cursor})
            later_pages, cursor = [*later_pages, answer], answer.json["nextCursor"]
        assert [*list_ids([first]), *list_ids(later_pages)] == [platform.id for platform in platforms]

    def test_joining_an_organization_between_two_pages_skips_nothing_else(self, api, platforms, mary, ada):
        for platform in islice(platforms, 3, 6):
            assert api.post(f"/organizations/{platform.organization_id}/leave", caller=mary).status == 204
        first = api.get("/platforms", caller=mary, query={"limit": 20})
        for platform in islice(platforms, 3, 6):
            add_organization_member(CreatedOrganization({"id": platform.organization_id}, ada), mary, "member")
        listed, cursor = list_ids([first]), first.json["nextCursor"]
        while cursor:
            answer = api.get("/platforms", caller=mary, query={"limit": 20, "cursor": cursor})
            assert Counter(answer.calls.call_names)["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + 1
            listed, cursor = [*listed, *list_ids([answer])], answer.json["nextCursor"]
        others = {platform.id for platform in platforms} - {platform.id for platform in platforms[3:6]}
        assert others <= {*listed}

    def test_a_request_for_one_organization_needs_no_groups(self, api, platforms, mary):
        last = platforms[-1]
        answer = api.get("/platforms", caller=mary, query={"organizationId": last.organization_id})
        assert (list_ids([answer]), answer.json["nextCursor"]) == ([last.id], None)

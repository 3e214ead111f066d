"""Lists across all organizations of a caller: they query 25 organizations at a time, and list each record once."""

from typing import Any

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.features.research.entities import Artefact, ResearchOutput
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic.membership_groups import MAX_MEMBERSHIPS
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.roles import Role
from tests.harness import memory_aws
from tests.harness.api import ApiResponse, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.platforms import CreatedPlatform, add_platform_member, create_platform
from tests.harness.stored_records import new_id_and_time_fields

ORGANIZATIONS = 2 * MAX_MEMBERSHIPS + 5
LIST_PATHS = ["/platforms", "/project-blocks/showcase/platforms", "/research/artefacts", "/research/outputs"]


@pytest.fixture
def platforms(aws, mary, stranger):
    """A platform in each of many organizations, of which Mary is a member, in order of creation."""
    return cached_scenario(
        "platforms of many organizations", lambda: [put_platform(n, mary, stranger) for n in range(ORGANIZATIONS)]
    )


def put_platform(number, member, owner):
    """Store an organization with two members, a platform that uses a block, and research."""
    timestamp = after(now(), seconds=number - 2 * ORGANIZATIONS)

    def new() -> dict[str, Any]:
        return new_id_and_time_fields(timestamp)

    names: Json = {"name": f"Guild {number}", "slug": f"guild-{number}"}
    organization = Organization(**new(), **names, owner_id=owner.id, counts_toward_quota=True)
    platform = Platform(**new(), **names, organization_id=organization.id)
    block_fields: Json = {"project_block_id": "showcase", "title": None, "enabled": True, "settings": {}, "position": 0}
    library_fields: Json = {"library_id": organization.id, "organization_id": organization.id, "title": "Kilns"}
    source_fields: Json = {"source": "dblp", "source_id": organization.id, "type": "article", "fetched_at": timestamp}
    for record in (
        organization,
        platform,
        Member.create_for_organization(new(), organization.id, owner.to_user(), Role.OWNER),
        Member.create_for_organization(new(), organization.id, member.to_user(), Role.MEMBER),
        ProjectBlock(**new(), **platform.ids_by_parameter, **block_fields),
        ResearchOutput(**new(), **library_fields),
        Artefact(**new(), **library_fields, **source_fields, content_hash="0" * 64, is_stale=False),
    ):
        memory_aws.put_item(record.item())
    return CreatedPlatform({"id": platform.id, "organizationId": organization.id}, owner)


def get_all_pages(api, path, caller, limit, cursor=None):
    """Return all pages of a list, from a cursor on. They can be empty before the last one."""
    answers: list[ApiResponse] = []
    while not answers or cursor:
        query = {"limit": limit, **({"cursor": cursor} if cursor else {})}
        answers.append(api.get(path, caller=caller, query=query))
        cursor = answers[-1].json["nextCursor"]
        assert answers[-1].calls.call_names.count("dynamodb:Query") <= 1 + MAX_MEMBERSHIPS + 2
        assert len(answers) < 1000
    return answers


def list_ids(answers):
    return [item["id"] for answer in answers for item in answer.json["items"]]


@pytest.mark.parametrize("path", LIST_PATHS)
def test_every_record_is_listed_once_in_order_with_limited_queries(api, platforms, mary, path):
    few_per_page, many_per_page = (get_all_pages(api, path, mary, limit) for limit in (7, 100))
    ids = list_ids(few_per_page)
    assert len(set(ids)) == len(ids) == len(platforms)
    assert ids == list_ids(many_per_page)
    if "platforms" in path:
        assert ids == [platform.id for platform in platforms]
    assert len(api.get(path, caller=mary, query={"limit": 1}).json["items"]) == 1


class TestOrganizationGroups:
    def test_groups_follow_the_order_of_memberships_and_records_that_of_creation(self, api, platforms, mary, stranger):
        first = CreatedOrganization({"id": platforms[0].organization_id}, stranger)
        latest = create_platform(api, first, name="Latest")
        ids = [platform.id for platform in platforms]
        expected = [*ids[:MAX_MEMBERSHIPS], latest.id, *ids[MAX_MEMBERSHIPS:]]
        assert list_ids(get_all_pages(api, "/platforms", mary, 10)) == expected

    def test_a_platform_with_its_own_membership_is_listed_once(self, api, platforms, mary, ada):
        foreign = create_platform(api, create_organization(api, ada, name="Foreign"))
        for platform in (platforms[0], platforms[-1], foreign):
            add_platform_member(platform, mary)
        listed = list_ids(get_all_pages(api, "/platforms", mary, 10))
        assert sorted(listed) == sorted([foreign.id, *(platform.id for platform in platforms)])
        assert listed.index(foreign.id) < listed.index(platforms[MAX_MEMBERSHIPS].id)

    def test_leaving_an_organization_between_two_pages_skips_nothing_else(self, api, platforms, mary):
        first = api.get("/platforms", caller=mary, query={"limit": 20})
        api.post(f"/organizations/{platforms[3].organization_id}/leave", caller=mary).expect(204)
        later = get_all_pages(api, "/platforms", mary, 20, first.json["nextCursor"])
        assert list_ids([first, *later]) == [platform.id for platform in platforms]

    def test_joining_an_organization_between_two_pages_skips_nothing_else(self, api, platforms, mary, ada):
        for platform in platforms[3:6]:
            api.post(f"/organizations/{platform.organization_id}/leave", caller=mary).expect(204)
        first = api.get("/platforms", caller=mary, query={"limit": 20})
        for platform in platforms[3:6]:
            add_organization_member(CreatedOrganization({"id": platform.organization_id}, ada), mary, "member")
        later = get_all_pages(api, "/platforms", mary, 20, first.json["nextCursor"])
        assert max(answer.calls.call_names.count("dynamodb:Query") for answer in later) <= 1 + MAX_MEMBERSHIPS + 1
        others = {platform.id for platform in platforms} - {platform.id for platform in platforms[3:6]}
        assert others <= {*list_ids([first, *later])}

    def test_a_request_for_one_organization_needs_no_groups(self, api, platforms, mary):
        last = platforms[-1]
        answer = api.get("/platforms", caller=mary, query={"organizationId": last.organization_id})
        assert (list_ids([answer]), answer.json["nextCursor"]) == ([last.id], None)

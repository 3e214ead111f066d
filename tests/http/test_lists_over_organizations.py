"""Lists over all organizations of a caller: by groups of 25, whatever their number, and nothing twice or left out."""

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
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, found, joins
from tests.harness.platforms import Running, run_platform, takes_part
from tests.harness.stored_records import beginning

ORGANIZATIONS = 2 * MAX_MEMBERSHIPS + 5
LISTS = ["/platforms", "/project-blocks/showcase/platforms", "/research/artefacts", "/research/outputs"]


@pytest.fixture
def many(_aws: None, mary: Person, stranger: Person) -> list[Running]:
    """A platform in each of many organizations, in all of which Mary is a member; in the order they were made."""
    return [_platform_of_another(number, mary, stranger) for number in range(ORGANIZATIONS)]


def _platform_of_another(number: int, member: Person, owner: Person) -> Running:
    """Put an organization into the table, with two members, a platform that uses a block, and research."""
    moment = after(now(), seconds=number - 2 * ORGANIZATIONS)
    named: dict[str, Any] = {"name": f"Guild {number}", "slug": f"guild-{number}"}
    organization = Organization(**beginning(moment), **named, owner_id=owner.id, counts_toward_quota=True)
    platform = Platform(**beginning(moment), **named, organization_id=organization.id)
    used: dict[str, Any] = {
        "project_block_id": "showcase",
        "title": None,
        "enabled": True,
        "settings": {},
        "position": 0,
    }
    library: dict[str, Any] = {"library_id": organization.id, "organization_id": organization.id, "title": "Kilns"}
    for record in (
        organization,
        platform,
        Member.create_for_organization(beginning(moment), organization.id, owner.user(), Role.OWNER),
        Member.create_for_organization(beginning(moment), organization.id, member.user(), Role.MEMBER),
        ProjectBlock(**beginning(moment), **platform.ancestor_ids, **used),
        ResearchOutput(**beginning(moment), **library),
        Artefact(
            **beginning(moment),
            **library,
            source="dblp",
            source_id=organization.id,
            type="article",
            fetched_at=moment,
            content_hash="0" * 64,
            is_stale=False,
        ),
    ):
        cloud.put(record.item())
    return Running({"id": platform.id, "organizationId": organization.id}, owner)


def walk(api: Api, path: str, as_: Person, limit: int) -> list[Answer]:
    """All pages of a list; an empty one is no end."""
    answers = [api.get(path, as_=as_, query={"limit": limit})]
    while cursor := answers[-1].json["nextCursor"]:
        assert len(answers) < 1000
        answers.append(api.get(path, as_=as_, query={"limit": limit, "cursor": cursor}))
    return answers


def ids(answers: list[Answer]) -> list[str]:
    return [item["id"] for answer in answers for item in answer.json["items"]]


@pytest.mark.parametrize("path", LISTS)
class TestEveryListOverOrganizations:
    def test_shows_all_once_in_order_and_asks_of_25_organizations_at_most(
        self, api: Api, many: list[Running], mary: Person, path: str
    ) -> None:
        by_limit = {limit: walk(api, path, mary, limit) for limit in (7, 100)}
        for answers in by_limit.values():
            assert len(set(ids(answers))) == len(ids(answers)) == len(many)
            for answer in answers:
                queries = Counter(answer.calls.names)["dynamodb:Query"]
                assert queries <= 1 + MAX_MEMBERSHIPS + 2
        assert ids(by_limit[7]) == ids(by_limit[100])
        organizations = [platform.organization_id for platform in many]
        if "platforms" in path:
            shown = [item["organizationId"] for answer in by_limit[7] for item in answer.json["items"]]
            assert shown == organizations

    def test_with_a_limit_of_one_too(self, api: Api, many: list[Running], mary: Person, path: str) -> None:
        answer = api.get(path, as_=mary, query={"limit": 1})
        assert len(answer.json["items"]) == 1
        assert Counter(answer.calls.names)["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + 2
        assert many


class TestGroups:
    def test_are_in_the_order_of_the_memberships_and_each_in_the_order_of_creation(
        self, api: Api, many: list[Running], mary: Person, stranger: Person
    ) -> None:
        first = Founded({"id": many[0].organization_id}, stranger)
        latest = run_platform(api, first, name="Latest")
        shown = ids(walk(api, "/platforms", mary, 10))
        expected = [platform.id for platform in many]
        assert shown == [*expected[:MAX_MEMBERSHIPS], latest.id, *expected[MAX_MEMBERSHIPS:]]

    def test_a_platform_that_the_caller_is_also_a_member_of_is_shown_once(
        self, api: Api, many: list[Running], mary: Person, ada: Person
    ) -> None:
        for platform in (many[0], many[-1]):
            takes_part(platform, mary)
        foreign = run_platform(api, found(api, ada, name="Foreign"))
        takes_part(foreign, mary)
        shown = ids(walk(api, "/platforms", mary, 10))
        assert sorted(shown) == sorted([foreign.id, *(platform.id for platform in many)])
        assert shown.index(foreign.id) < shown.index(many[MAX_MEMBERSHIPS].id)

    def test_whoever_leaves_an_organization_between_two_pages_misses_nothing_of_others(
        self, api: Api, many: list[Running], mary: Person
    ) -> None:
        first = api.get("/platforms", as_=mary, query={"limit": 20})
        left = many[3].organization_id
        assert api.post(f"/organizations/{left}/leave", as_=mary).status == 204
        rest: list[Answer] = []
        cursor = first.json["nextCursor"]
        while cursor:
            answer = api.get("/platforms", as_=mary, query={"limit": 20, "cursor": cursor})
            rest, cursor = [*rest, answer], answer.json["nextCursor"]
        assert [*ids([first]), *ids(rest)] == [platform.id for platform in many]

    def test_whoever_enters_one_between_two_pages_finds_each_of_the_others(
        self, api: Api, many: list[Running], mary: Person, ada: Person
    ) -> None:
        for platform in islice(many, 3, 6):
            assert api.post(f"/organizations/{platform.organization_id}/leave", as_=mary).status == 204
        first = api.get("/platforms", as_=mary, query={"limit": 20})
        for platform in islice(many, 3, 6):
            joins(Founded({"id": platform.organization_id}, ada), mary, "member")
        shown, cursor = ids([first]), first.json["nextCursor"]
        while cursor:
            answer = api.get("/platforms", as_=mary, query={"limit": 20, "cursor": cursor})
            assert Counter(answer.calls.names)["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + 1
            shown, cursor = [*shown, *ids([answer])], answer.json["nextCursor"]
        others = {platform.id for platform in many} - {platform.id for platform in many[3:6]}
        assert others <= {*shown}

    def test_one_organization_that_is_asked_for_needs_none(self, api: Api, many: list[Running], mary: Person) -> None:
        last = many[-1]
        answer = api.get("/platforms", as_=mary, query={"organizationId": last.organization_id})
        assert (ids([answer]), answer.json["nextCursor"]) == ([last.id], None)

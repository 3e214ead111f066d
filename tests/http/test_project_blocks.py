"""The project blocks of a platform, and which platforms use one."""

from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Running, run_platform, takes_part


def patch(api: Api, platform: Running, *blocks: Json, **words: Any) -> Answer:
    sent = {"projectBlocks": [*blocks]}
    return api.patch(f"{platform.path}/project-blocks", json=sent, **{"as_": platform.owner, **words})


def block(block_id: str, **fields: Any) -> Json:
    return {"projectBlockId": block_id, "title": None, "enabled": True, "settings": {}, **fields}


def listed(api: Api, platform: Running) -> list[Json]:
    answer = api.get(f"{platform.path}/project-blocks", as_=platform.owner).json
    assert answer["nextCursor"] is None
    items: list[Json] = answer["items"]
    return items


class TestUpdateProjectBlocks:
    def test_they_are_what_was_sent_in_its_order(self, api: Api, platform: Running) -> None:
        full = block("Show.case:1", title="What we weave", enabled=False, settings={"columns": 3})
        answer = patch(api, platform, {"projectBlockId": "zebra"}, full, {"projectBlockId": "ant"})
        assert answer.json == {"items": [block("zebra"), full, block("ant")], "nextCursor": None}
        assert listed(api, platform) == answer.json["items"]
        moved = patch(api, platform, {"projectBlockId": "ant"}, {"projectBlockId": "zebra"})
        assert moved.json["items"] == [block("ant"), block("zebra")] == listed(api, platform)

    def test_an_empty_list_or_null_removes_them_and_nothing_changes_nothing(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        patch(api, platform, {"projectBlockId": "ant"})
        log = log_of(api, organization)
        path, ada = f"{platform.path}/project-blocks", platform.owner
        assert api.patch(path, as_=ada, json={}).json["items"] == [block("ant")]
        assert patch(api, platform, {"projectBlockId": "ant"}).json["items"] == [block("ant")]
        assert log_of(api, organization) == log
        nothings: list[list[Json] | None] = [[], None]
        for nothing in nothings:
            patch(api, platform, {"projectBlockId": "ant"})
            assert api.patch(path, as_=ada, json={"projectBlocks": nothing}).json["items"] == []
            assert listed(api, platform) == []

    def test_what_is_wrong_is_told_and_nothing_is_done(self, api: Api, platform: Running) -> None:
        patch(api, platform, {"projectBlockId": "ant"})
        answer = patch(api, platform, {"projectBlockId": "!"}, {"title": " "}, {"projectBlockId": "b", "position": 1})
        assert answer.faults == {
            "/projectBlocks/0/projectBlockId": "malformed",
            "/projectBlocks/1/projectBlockId": "required",
            "/projectBlocks/1/title": "too_short",
            "/projectBlocks/2/position": "unknown_field",
        }
        twice = patch(api, platform, {"projectBlockId": "a"}, {"projectBlockId": "a"})
        assert twice.faults == {"/projectBlocks/1/projectBlockId": "repeated"}
        many = patch(api, platform, *({"projectBlockId": f"b{n}"} for n in range(41)))
        assert many.faults == {"/projectBlocks": "too_many"}
        large = patch(api, platform, *({"projectBlockId": f"b{n}", "settings": {"a": "x" * 60_000}} for n in range(5)))
        assert large.code == "409 limit_exceeded"
        assert listed(api, platform) == [block("ant")]

    def test_forty_others_take_the_place_of_forty(self, api: Api, platform: Running) -> None:
        for prefix in ("one", "other"):
            answer = patch(api, platform, *({"projectBlockId": f"{prefix}-{n}"} for n in range(40)))
            assert [item["projectBlockId"] for item in answer.json["items"]] == [f"{prefix}-{n}" for n in range(40)]

    def test_the_entry_is_about_all_of_them(self, api: Api, organization: Founded, platform: Running) -> None:
        patch(api, platform, {"projectBlockId": "ant"})
        patch(api, platform, {"projectBlockId": "bee"}, {"projectBlockId": "ant"})
        entry = log_of(api, organization)[0]
        assert entry["type"] == "platform.project_blocks.updated"
        assert entry["target"] == {"type": "platform.project_blocks", "id": platform.id, "name": "Engines"}
        assert entry["changes"] == [
            {"field": "items", "from": ["ant"], "to": ["bee", "ant"]},
            {"field": "items.bee", "from": None, "to": block("bee")},
        ]

    def test_only_admins_may(self, api: Api, platform: Running, grace: Person, edith: Person) -> None:
        assert patch(api, platform, as_=edith).code == "403 insufficient_role"
        assert patch(api, platform, {"projectBlockId": "ant"}, as_=grace).status == 200


class TestListProjectBlockPlatforms:
    def users(self, api: Api, as_: Caller | None, block_id: str = "showcase", **query: Any) -> list[str]:
        path = f"/project-blocks/{block_id}/platforms"
        return [item["name"] for item in api.items(path, as_=as_, query=query)]

    def using(self, api: Api, organization: Founded, *names: str) -> list[Running]:
        platforms = [run_platform(api, organization, name=name) for name in names]
        for platform in platforms:
            patch(api, platform, {"projectBlockId": "showcase"}, {"projectBlockId": "other"})
        return platforms

    def test_those_of_the_callers_organizations_in_the_order_they_were_made(
        self, api: Api, organization: Founded, platform: Running, mary: Person, stranger: Person
    ) -> None:
        assert platform.record["name"] == "Engines"
        self.using(api, organization, "Looms", "Mills", "Cards")
        self.using(api, found(api, stranger, name="Rivals"), "Theirs")
        assert self.users(api, mary) == ["Looms", "Mills", "Cards"]
        assert self.users(api, mary, limit=2) == ["Looms", "Mills", "Cards"]
        assert self.users(api, stranger) == ["Theirs"]
        assert self.users(api, make_key(api, organization, "platforms:read")) == ["Looms", "Mills", "Cards"]

    def test_those_the_caller_is_a_member_of_that_use_it(
        self, api: Api, organization: Founded, platform: Running, stranger: Person
    ) -> None:
        (looms, mills) = self.using(api, organization, "Looms", "Mills")
        takes_part(looms, stranger)
        takes_part(platform, stranger)
        assert self.users(api, stranger) == ["Looms"]
        patch(api, looms, {"projectBlockId": "other"})
        assert self.users(api, stranger) == []
        assert self.users(api, mills.owner) == ["Mills"]

    def test_one_that_nobody_uses_has_none(self, api: Api, organization: Founded) -> None:
        self.using(api, organization, "Looms")
        for block_id in ("Showcase", "nobodys", "1-showcase"):
            assert self.users(api, organization.owner, block_id) == []
        for no_id in ("%23", "a%2Fb", "x" * 129):
            answer = api.get(f"/project-blocks/{no_id}/platforms", as_=organization.owner)
            assert answer.code == "404 not_found"

    def test_a_deleted_platform_is_none(self, api: Api, organization: Founded) -> None:
        looms, _ = self.using(api, organization, "Looms", "Mills")
        api.delete(looms.path, as_=organization.owner)
        assert self.users(api, organization.owner) == ["Mills"]

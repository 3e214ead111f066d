"""The project blocks of a platform, and the platforms that use a block."""

from typing import Any

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import CreatedPlatform, add_platform_member, create_platform


def patch_blocks(api: ApiClient, platform: CreatedPlatform, *blocks: Json, **options: Any) -> ApiResponse:
    body = {"projectBlocks": [*blocks]}
    return api.patch(f"{platform.path}/project-blocks", json=body, **{"caller": platform.owner, **options})


def build_block(block_id: str, **fields: Any) -> Json:
    return {"projectBlockId": block_id, "title": None, "enabled": True, "settings": {}, **fields}


def list_blocks(api: ApiClient, platform: CreatedPlatform) -> list[Json]:
    answer = api.get(f"{platform.path}/project-blocks", caller=platform.owner).json
    assert answer["nextCursor"] is None
    items: list[Json] = answer["items"]
    return items


class TestUpdateProjectBlocks:
    def test_the_blocks_are_replaced_in_the_given_order(self, api, platform):
        full_block = build_block("Show.case:1", title="What we weave", enabled=False, settings={"columns": 3})
        answer = patch_blocks(api, platform, {"projectBlockId": "zebra"}, full_block, {"projectBlockId": "ant"})
        assert answer.json == {"items": [build_block("zebra"), full_block, build_block("ant")], "nextCursor": None}
        assert list_blocks(api, platform) == answer.json["items"]
        response = patch_blocks(api, platform, {"projectBlockId": "ant"}, {"projectBlockId": "zebra"})
        assert response.json["items"] == [build_block("ant"), build_block("zebra")] == list_blocks(api, platform)

    def test_an_empty_list_or_null_removes_all_blocks_and_an_empty_body_changes_nothing(
        self, api, organization, platform
    ):
        patch_blocks(api, platform, {"projectBlockId": "ant"})
        log = list_entries(api, organization)
        path, ada = f"{platform.path}/project-blocks", platform.owner
        assert api.patch(path, caller=ada, json={}).json["items"] == [build_block("ant")]
        assert patch_blocks(api, platform, {"projectBlockId": "ant"}).json["items"] == [build_block("ant")]
        assert list_entries(api, organization) == log
        empty_lists: list[list[Json] | None] = [[], None]
        for empty_list in empty_lists:
            patch_blocks(api, platform, {"projectBlockId": "ant"})
            assert api.patch(path, caller=ada, json={"projectBlocks": empty_list}).json["items"] == []
            assert list_blocks(api, platform) == []

    def test_an_invalid_request_changes_nothing(self, api, platform):
        patch_blocks(api, platform, {"projectBlockId": "ant"})
        answer = patch_blocks(
            api, platform, {"projectBlockId": "!"}, {"title": " "}, {"projectBlockId": "b", "position": 1}
        )
        assert answer.errors == {
            "/projectBlocks/0/projectBlockId": "malformed",
            "/projectBlocks/1/projectBlockId": "required",
            "/projectBlocks/1/title": "too_short",
            "/projectBlocks/2/position": "unknown_field",
        }
        response = patch_blocks(api, platform, {"projectBlockId": "a"}, {"projectBlockId": "a"})
        assert response.errors == {"/projectBlocks/1/projectBlockId": "repeated"}
        response = patch_blocks(api, platform, *({"projectBlockId": f"b{n}"} for n in range(41)))
        assert response.errors == {"/projectBlocks": "too_many"}
        response = patch_blocks(
            api, platform, *({"projectBlockId": f"b{n}", "settings": {"a": "x" * 60_000}} for n in range(5))
        )
        assert response.status_and_code == "409 limit_exceeded"
        assert list_blocks(api, platform) == [build_block("ant")]

    def test_forty_blocks_replace_forty_others(self, api, platform):
        for prefix in ("one", "other"):
            answer = patch_blocks(api, platform, *({"projectBlockId": f"{prefix}-{n}"} for n in range(40)))
            assert [item["projectBlockId"] for item in answer.json["items"]] == [f"{prefix}-{n}" for n in range(40)]

    def test_the_target_of_the_entry_is_the_list(self, api, organization, platform):
        patch_blocks(api, platform, {"projectBlockId": "ant"})
        patch_blocks(api, platform, {"projectBlockId": "bee"}, {"projectBlockId": "ant"})
        entry = list_entries(api, organization)[0]
        assert entry["type"] == "platform.project_blocks.updated"
        assert entry["target"] == {"type": "platform.project_blocks", "id": platform.id, "name": "Engines"}
        assert entry["changes"] == [
            {"field": "items", "from": ["ant"], "to": ["bee", "ant"]},
            {"field": "items.bee", "from": None, "to": build_block("bee")},
        ]

    def test_only_admins_change_project_blocks(self, api, platform, grace, edith):
        assert patch_blocks(api, platform, caller=edith).status_and_code == "403 insufficient_role"
        assert patch_blocks(api, platform, {"projectBlockId": "ant"}, caller=grace).status == 200


class TestListProjectBlockPlatforms:
    def list_platform_names(
        self, api: ApiClient, caller: Caller | None, block_id: str = "showcase", **query: Any
    ) -> list[str]:
        path = f"/project-blocks/{block_id}/platforms"
        return [item["name"] for item in api.get_items(path, caller=caller, query=query)]

    def create_platforms(self, api: ApiClient, organization: CreatedOrganization, *names: str) -> list[CreatedPlatform]:
        platforms = [create_platform(api, organization, name=name) for name in names]
        for platform in platforms:
            patch_blocks(api, platform, {"projectBlockId": "showcase"}, {"projectBlockId": "other"})
        return platforms

    def test_platforms_of_the_callers_organizations_are_listed_in_order_of_creation(
        self, api, organization, platform, mary, stranger
    ):
        assert platform.record["name"] == "Engines"
        self.create_platforms(api, organization, "Looms", "Mills", "Cards")
        self.create_platforms(api, create_organization(api, stranger, name="Rivals"), "Theirs")
        assert self.list_platform_names(api, mary) == ["Looms", "Mills", "Cards"]
        assert self.list_platform_names(api, mary, limit=2) == ["Looms", "Mills", "Cards"]
        assert self.list_platform_names(api, stranger) == ["Theirs"]
        assert self.list_platform_names(api, create_api_key(api, organization, "platforms:read")) == [
            "Looms",
            "Mills",
            "Cards",
        ]

    def test_platforms_with_an_own_membership_are_listed_while_they_use_the_block(
        self, api, organization, platform, stranger
    ):
        (looms, mills) = self.create_platforms(api, organization, "Looms", "Mills")
        add_platform_member(looms, stranger)
        add_platform_member(platform, stranger)
        assert self.list_platform_names(api, stranger) == ["Looms"]
        patch_blocks(api, looms, {"projectBlockId": "other"})
        assert self.list_platform_names(api, stranger) == []
        assert self.list_platform_names(api, mills.owner) == ["Mills"]

    def test_an_unused_block_has_no_platforms(self, api, organization):
        self.create_platforms(api, organization, "Looms")
        for block_id in ("Showcase", "nobodys", "1-showcase"):
            assert self.list_platform_names(api, organization.owner, block_id) == []
        for malformed_id in ("%23", "a%2Fb", "x" * 129):
            answer = api.get(f"/project-blocks/{malformed_id}/platforms", caller=organization.owner)
            assert answer.status_and_code == "404 not_found"

    def test_a_deleted_platform_is_not_listed(self, api, organization):
        looms, _ = self.create_platforms(api, organization, "Looms", "Mills")
        api.delete(looms.path, caller=organization.owner)
        assert self.list_platform_names(api, organization.owner) == ["Mills"]

"""The project blocks of a platform, and the platforms that use a block."""

from typing import Any

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient, add_platform_member


def patch_blocks(platform: PlatformClient, *blocks: str | Json) -> ApiResponse:
    """Replace the blocks. A block id stands for a block without other fields."""
    items = [{"projectBlockId": each} if isinstance(each, str) else each for each in blocks]
    return platform.patch("/project-blocks", {"projectBlocks": items})


def build_block(block_id: str, **fields: Any) -> Json:
    return {"projectBlockId": block_id, "title": None, "enabled": True, "settings": {}, **fields}


def list_blocks(platform: PlatformClient) -> list[Json]:
    answer = platform.get("/project-blocks").json
    assert answer["nextCursor"] is None
    return list(answer["items"])


class TestUpdateProjectBlocks:
    def test_the_blocks_are_replaced_in_the_given_order(self, platform):
        full_block = build_block("Show.case:1", title="What we weave", enabled=False, settings={"columns": 3})
        answer = patch_blocks(platform, "zebra", full_block, "ant")
        assert answer.json == {"items": [build_block("zebra"), full_block, build_block("ant")], "nextCursor": None}
        assert list_blocks(platform) == answer.json["items"]
        response = patch_blocks(platform, "ant", "zebra")
        assert response.json["items"] == [build_block("ant"), build_block("zebra")] == list_blocks(platform)

    def test_an_empty_list_or_null_removes_all_blocks_and_an_empty_body_changes_nothing(
        self, api, organization, platform
    ):
        patch_blocks(platform, "ant")
        log = list_entries(api, organization)
        assert platform.patch("/project-blocks", {}).json["items"] == [build_block("ant")]
        assert patch_blocks(platform, "ant").json["items"] == [build_block("ant")]
        assert list_entries(api, organization) == log
        bodies: list[Json] = [{"projectBlocks": []}, {"projectBlocks": None}]
        for body in bodies:
            patch_blocks(platform, "ant")
            assert platform.patch("/project-blocks", body).json["items"] == []
            assert list_blocks(platform) == []

    def test_an_invalid_request_changes_nothing(self, platform):
        patch_blocks(platform, "ant")
        answer = patch_blocks(platform, "!", {"title": " "}, {"projectBlockId": "b", "position": 1})
        assert answer.errors == {
            "/projectBlocks/0/projectBlockId": "malformed",
            "/projectBlocks/1/projectBlockId": "required",
            "/projectBlocks/1/title": "too_short",
            "/projectBlocks/2/position": "unknown_field",
        }
        assert patch_blocks(platform, "a", "a").errors == {"/projectBlocks/1/projectBlockId": "repeated"}
        assert patch_blocks(platform, *(f"b{n}" for n in range(41))).errors == {"/projectBlocks": "too_many"}
        large_blocks = [{"projectBlockId": f"b{n}", "settings": {"a": "x" * 60_000}} for n in range(5)]
        assert patch_blocks(platform, *large_blocks).status_and_code == "409 limit_exceeded"
        assert list_blocks(platform) == [build_block("ant")]

    def test_forty_blocks_replace_forty_others(self, platform):
        for prefix in ("one", "other"):
            ids = [f"{prefix}-{n}" for n in range(40)]
            assert [item["projectBlockId"] for item in patch_blocks(platform, *ids).json["items"]] == ids

    def test_the_target_of_the_entry_is_the_list(self, api, organization, platform):
        patch_blocks(platform, "ant")
        patch_blocks(platform, "bee", "ant")
        entry = list_entries(api, organization)[0]
        assert entry["type"] == "platform.project_blocks.updated"
        assert entry["target"] == {"type": "platform.project_blocks", "id": platform.id, "name": "Engines"}
        assert entry["changes"] == [
            {"field": "items", "from": ["ant"], "to": ["bee", "ant"]},
            {"field": "items.bee", "from": None, "to": build_block("bee")},
        ]


class TestListProjectBlockPlatforms:
    @pytest.fixture
    def list_names(self, api, organization):
        """A function that lists the names of the platforms with a block."""

        def list_names(caller: object = organization.owner, block_id: str = "showcase", **query: Any) -> list[str]:
            items = api.get_items(f"/project-blocks/{block_id}/platforms", caller=caller, query=query)
            return [item["name"] for item in items]

        return list_names

    @pytest.fixture
    def platforms(self, new_platform):
        """Two platforms with the block, by their names."""
        platforms = {name: new_platform(name=name) for name in ("Looms", "Mills")}
        for platform in platforms.values():
            patch_blocks(platform, "showcase", "other")
        return platforms

    @pytest.mark.usefixtures("platforms")
    def test_platforms_of_the_callers_organizations_are_listed_in_order_of_creation(
        self, api, organization, platform, new_platform, list_names, mary, stranger
    ):
        assert platform.record["name"] == "Engines"
        patch_blocks(new_platform(name="Cards"), "showcase")
        patch_blocks(new_platform(create_organization(api, stranger, name="Rivals"), name="Theirs"), "showcase")
        assert list_names(mary) == list_names(mary, limit=2) == ["Looms", "Mills", "Cards"]
        assert list_names(stranger) == ["Theirs"]
        assert list_names(create_api_key(api, organization, "platforms:read")) == ["Looms", "Mills", "Cards"]

    def test_platforms_are_listed_while_they_exist_and_use_the_block(self, platform, platforms, list_names, stranger):
        for each in (platforms["Looms"], platform):
            add_platform_member(each, stranger)
        assert list_names(stranger) == ["Looms"]
        patch_blocks(platforms["Looms"], "other")
        assert (list_names(stranger), list_names()) == ([], ["Mills"])
        platforms["Mills"].delete()
        assert list_names() == []

    @pytest.mark.usefixtures("platforms")
    def test_an_unused_block_has_no_platforms(self, api, list_names, ada):
        for block_id in ("Showcase", "nobodys", "1-showcase"):
            assert list_names(block_id=block_id) == []
        for malformed_id in ("%23", "a%2Fb", "x" * 129):
            answer = api.get(f"/project-blocks/{malformed_id}/platforms", caller=ada)
            assert answer.status_and_code == "404 not_found"

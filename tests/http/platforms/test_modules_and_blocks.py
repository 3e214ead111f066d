"""The modules and project blocks of a platform, the effective modules of a space, and concurrent changes of them."""

from typing import Any

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import ApiResponse, Json
from tests.harness.invitations import run_before_next_transaction
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient, SpaceClient, add_platform_member

CATALOGUE_IDS = list(MODULE_CATALOGUE)
DEFAULT_FIELDS = {"enabled": True, "locked": False, "settings": {}, "dependsOn": []}
OFF = {"enabled": False, "locked": False}
RESET = {"enabled": None, "locked": None, "settings": None}


def patch_modules(platform: PlatformClient, *modules: Json, **options: Any) -> ApiResponse:
    return platform.patch("/modules", {"modules": [*modules]}, **options)


def list_modules(platform: PlatformClient) -> dict[str, Json]:
    return {module["moduleId"]: module for module in platform.get("/modules").json["items"]}


def change_modules(platform: PlatformClient, *modules: Json) -> dict[str, Json]:
    """Change modules and return all modules by id."""
    answer = patch_modules(platform, *modules).expect(200)
    assert answer.json == {**platform.get("/modules").json, "warnings": []}
    return {module["moduleId"]: module for module in answer.json["items"]}


class TestUpdatePlatformModules:
    def test_the_given_modules_are_changed_and_all_are_returned(self, platform):
        fields = {"moduleId": "events", "enabled": False, "locked": True, "settings": {"view": "month"}}
        modules = change_modules(platform, fields, {"moduleId": "acme.Wiki:v2"})
        assert list(modules) == [*CATALOGUE_IDS, "acme.Wiki:v2"]
        assert modules["events"] == {**fields, "name": "Events", "source": "platform", "dependsOn": []}
        names = dict.fromkeys(("moduleId", "name"), "acme.Wiki:v2")
        assert modules["acme.Wiki:v2"] == {**names, "source": "platform", **DEFAULT_FIELDS}
        assert all(modules[name]["source"] == "system" for name in CATALOGUE_IDS if name != "events")
        repeated = change_modules(platform, {"moduleId": "events", "enabled": True, "settings": {"view": True}})
        assert repeated["events"] == {**modules["events"], "enabled": True, "settings": {"view": True}}

    def test_a_new_module_whose_id_is_similar_to_that_of_another_one_is_reported(self, platform):
        answer = patch_modules(platform, {"moduleId": "jobs"}, {"moduleId": "evnts", "enabled": False})
        (warning,) = answer.json["warnings"]
        assert (warning["pointer"], warning["code"]) == ("/modules/1/moduleId", "similar_id")
        question = "'evnts' is a new module of this platform. Do you mean events? "
        assert warning["detail"].startswith(question)
        own = {"moduleId": "gauge-levels"}
        for changes in ([{"moduleId": "evnts"}], [{"moduleId": "evnts", **RESET}], [own]):
            assert patch_modules(platform, *changes).json["warnings"] == []
        (of_own,) = patch_modules(platform, own, {"moduleId": "Gauge-level"}).json["warnings"]
        assert "Do you mean gauge-levels?" in of_own["detail"]

    def test_one_invalid_module_rejects_the_whole_request(self, platform):
        feed = {"moduleId": "feed", "enabled": False}
        home: Json = {"moduleId": "home", "settings": []}
        errors = patch_modules(platform, feed, {"moduleId": "-nd"}, {"enabled": 1}, home).errors
        wrong_types = dict.fromkeys(("/modules/2/enabled", "/modules/3/settings"), "wrong_type")
        assert errors == wrong_types | {"/modules/1/moduleId": "malformed", "/modules/2/moduleId": "required"}
        assert patch_modules(platform, feed, {"moduleId": "feed"}).errors == {"/modules/1/moduleId": "repeated"}
        assert all(module["enabled"] for module in list_modules(platform).values())

    def test_the_size_of_settings_and_the_number_of_modules_are_limited(self, platform):
        change_modules(platform, {"moduleId": "feed", "settings": {"a": "x" * 40_000}})
        response = patch_modules(platform, {"moduleId": "jobs"}, {"moduleId": "feed", "settings": {"b": "x" * 40_000}})
        assert response.errors == {"/modules/1/settings": "too_large"}
        large_modules = [{"moduleId": name, "settings": {"a": "x" * 60_000}} for name in CATALOGUE_IDS[2:7]]
        assert patch_modules(platform, *large_modules).status_and_code == "409 limit_exceeded"
        change_modules(platform, {"moduleId": "feed", **RESET})
        modules = [{"moduleId": f"own-{n}"} for n in range(100)]
        assert patch_modules(platform, *modules[:41]).errors == {"/modules": "too_many"}
        for start in (0, 40, 80):
            change_modules(platform, *modules[start : start + 40])
        assert patch_modules(platform, {"moduleId": "one-more"}).status_and_code == "409 limit_exceeded"
        page = platform.get("/modules").json
        assert (len(page["items"]), page["nextCursor"]) == (112, None)

    def test_the_entry_shows_every_changed_module(self, entries, platform):
        before = change_modules(platform, {"moduleId": "wiki"})
        wiki: Json = {"moduleId": "wiki", **RESET}
        after = change_modules(platform, {"moduleId": "events", "enabled": False}, {"moduleId": "blog"}, wiki)
        (entry, *_) = entries()
        assert entry["changes"] == [
            {"field": "items", "from": [*before], "to": [*after]},
            {"field": "items.events", "from": before["events"], "to": after["events"]},
            {"field": "items.blog", "from": None, "to": after["blog"]},
            {"field": "items.wiki", "from": before["wiki"], "to": None},
        ]
        assert (entry["data"]["version"], entry["data"]["items"]) == (3, [*after.values()])


class TestDependencies:
    def test_a_module_is_off_in_spaces_where_one_of_its_dependencies_is_off(self, platform, space, entries):
        own = {"moduleId": "wiki", "dependsOn": ["feed", "notes", "feed"]}
        assert change_modules(platform, own, {"moduleId": "notes"})["wiki"]["dependsOn"] == ["feed", "notes"]
        assert entries()[0]["data"]["items"][-2]["dependsOn"] == ["feed", "notes"]
        change_modules(platform, {"moduleId": "notes", "dependsOn": ["events"]})
        override = {"moduleId": "events", "enabled": False}
        assert space.post("/module-overrides", override).json["effective"] == {**OFF, "blockedBy": []}
        modules = {module["moduleId"]: module for module in space.get("/effective-modules").json["items"]}
        blocked = {name: module["blockedBy"] for name, module in modules.items() if module["source"] == "dependency"}
        assert blocked == {"wiki": ["notes"], "notes": ["events"]}
        assert not modules["wiki"]["enabled"]
        assert platform.get("/config").json["modules"][-2]["enabled"], "the platform itself has no override"
        override = space.post("/module-overrides", {"moduleId": "wiki"}).json
        assert (override["enabled"], override["effective"]) == (True, {**OFF, "blockedBy": ["notes"]})
        change_modules(platform, {"moduleId": "notes", "dependsOn": None}, {"moduleId": "wiki", "locked": True})
        (_, override) = space.get("/module-overrides").json["items"]
        assert override["effective"] == {"enabled": True, "locked": True, "blockedBy": ["locked"]}

    @pytest.mark.parametrize(
        ("changes", "errors"),
        [
            ([{"moduleId": "wiki", "dependsOn": ["feed", "gone"]}], {"/modules/0/dependsOn/1": "unknown"}),
            ([{"moduleId": "feed", "dependsOn": ["events"]}], {"/modules/0/dependsOn": "read_only"}),
            ([{"moduleId": "x", "dependsOn": ["locked"]}], {"/modules/0/dependsOn/0": "malformed"}),
            ([{"moduleId": "x", "dependsOn": [f"m{n}" for n in range(21)]}], {"/modules/0/dependsOn": "too_many"}),
            ([{"moduleId": "notes", **RESET}], {"/modules/0": "has_dependents"}),
            (
                [{"moduleId": "notes", **RESET}, {"moduleId": "maps", "dependsOn": ["notes"]}],
                {"/modules/0": "has_dependents", "/modules/1/dependsOn/0": "unknown"},
            ),
        ],
    )
    def test_a_dependency_must_exist_and_only_own_modules_can_declare_one(self, platform, changes, errors):
        before = change_modules(platform, {"moduleId": "wiki", "dependsOn": ["notes"]}, {"moduleId": "notes"})
        assert patch_modules(platform, *changes).validation_errors == errors
        assert list_modules(platform) == before

    def test_what_a_caller_has_read_can_be_sent_back_and_dependents_removed_with_their_dependency(self, platform):
        modules = change_modules(platform, {"moduleId": "wiki", "dependsOn": ["notes"]}, {"moduleId": "notes"})
        read = [{name: module[name] for name in ("moduleId", "dependsOn")} for module in modules.values()]
        assert change_modules(platform, *read)["wiki"] == modules["wiki"]
        assert list(change_modules(platform, {"moduleId": "notes", **RESET}, {"moduleId": "wiki", **RESET})) == (
            CATALOGUE_IDS
        )

    @pytest.mark.parametrize(
        ("dependencies", "cycle"),
        [
            ({"wiki": ["wiki"]}, "wiki → wiki"),
            ({"wiki": ["notes"], "notes": ["maps"]}, "maps → wiki → notes → maps"),
            ({"maps": [], "wiki": ["maps", "notes"], "notes": ["wiki"]}, "wiki → notes → wiki"),
        ],
    )
    def test_a_cycle_is_rejected(self, platform, dependencies, cycle):
        before = change_modules(platform, {"moduleId": "wiki"}, {"moduleId": "maps", "dependsOn": ["wiki"]})
        changes = [{"moduleId": name, "dependsOn": ids} for name, ids in dependencies.items()]
        response = patch_modules(platform, *changes)
        assert response.status_and_code == "409 cycle"
        names = set(cycle.split(" → "))
        assert names == set(response.json["detail"].partition(": ")[2].partition(".")[0].split(" → "))
        assert list_modules(platform) == before


def test_an_override_that_the_platform_blocks_shows_its_effect_but_not_in_the_log(platform, space, entries):
    change_modules(platform, {"moduleId": "feed", "enabled": False, "locked": True})
    overrides = {
        "feed": {**OFF, "locked": True, "blockedBy": ["locked"]},
        "wiki": {**OFF, "blockedBy": ["unknown_module"]},
    }
    for module_id, effective in overrides.items():
        override = space.post("/module-overrides", {"moduleId": module_id}).expect(201).json
        assert override["effective"] == effective
        assert entries()[0]["data"] == {name: value for name, value in override.items() if name != "effective"}
        assert space.get(f"/module-overrides/{module_id}").json == override
    replaced = space.put("/module-overrides", {"overrides": [{"moduleId": name} for name in overrides]}).json
    assert replaced == space.get("/module-overrides").json
    assert {override["moduleId"]: override["effective"] for override in replaced["items"]} == overrides
    modules = {module["moduleId"]: module for module in space.get("/effective-modules").json["items"]}
    assert {name: {field: modules[name][field] for field in OFF | {"blockedBy": []}} for name in overrides} == overrides
    sources = {name: (modules[name]["source"], modules[name]["inherited"]) for name in overrides}
    assert sources == {"feed": ("platform", True), "wiki": ("space", False)}


def test_a_space_has_the_modules_of_its_platform_with_its_overrides(platform, other_platform, space, new_space):
    def list_effective(of: SpaceClient = space) -> dict[str, Json]:
        listed = of.get("/effective-modules").json
        assert listed["nextCursor"] is None
        return {module["moduleId"]: module for module in listed["items"]}

    effective = list_effective()
    assert list(effective) == CATALOGUE_IDS
    feed = {"moduleId": "feed", "source": "system", "inherited": True, "enabled": True, "locked": False}
    assert effective["feed"] == {**feed, "settings": {}, "blockedBy": []}
    change_modules(platform, {"moduleId": "feed", "enabled": False, "settings": {"a": {"b": 1}, "c": [1]}})
    change_modules(other_platform, {"moduleId": "jobs", "enabled": False})
    for module_id, settings in (("feed", {"a": {"d": 2}, "c": []}), ("wiki", {"a": 1})):
        assert space.post("/module-overrides", {"moduleId": module_id, "settings": settings}).status == 201
    effective, settings = list_effective(), {"a": {"b": 1, "d": 2}, "c": []}
    assert effective["feed"] == {**feed, "source": "space", "inherited": False, "settings": settings, "blockedBy": []}
    assert [name for name, module in effective.items() if not module["enabled"]] == ["wiki"], "the platform lacks it"
    inherited = list_effective(new_space(platform, name="Mills"))
    assert (inherited["feed"]["source"], inherited["feed"]["enabled"]) == ("platform", False)
    assert "wiki" not in inherited
    change_modules(platform, {"moduleId": "feed", "enabled": True, "locked": True}, {"moduleId": "wiki"})
    effective = list_effective()
    locked = {"source": "platform", "locked": True, "settings": {"a": {"b": 1}, "c": [1]}}
    assert effective["feed"] == {**feed, **locked, "blockedBy": ["locked"]}
    assert (effective["wiki"]["enabled"], effective["wiki"]["source"]) == (True, "space")


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

    def test_an_empty_list_or_null_removes_all_blocks_and_an_empty_body_changes_nothing(self, entries, platform):
        patch_blocks(platform, "ant")
        log = entries()
        for answer in (platform.patch("/project-blocks", {}), patch_blocks(platform, "ant")):
            assert answer.json["items"] == [build_block("ant")]
        assert entries() == log
        bodies: list[Json] = [{"projectBlocks": []}, {"projectBlocks": None}]
        for body in bodies:
            patch_blocks(platform, "ant")
            assert platform.patch("/project-blocks", body).json["items"] == []
            assert list_blocks(platform) == []

    def test_an_invalid_request_changes_nothing(self, platform):
        patch_blocks(platform, "ant")
        expected = {"0/projectBlockId": "malformed", "1/projectBlockId": "required", "1/title": "too_short"}
        errors = patch_blocks(platform, "!", {"title": " "}).errors
        assert errors == {f"/projectBlocks/{pointer}": code for pointer, code in expected.items()}
        assert patch_blocks(platform, "a", "a").errors == {"/projectBlocks/1/projectBlockId": "repeated"}
        assert patch_blocks(platform, *(f"b{n}" for n in range(41))).errors == {"/projectBlocks": "too_many"}
        large_blocks = [{"projectBlockId": f"b{n}", "settings": {"a": "x" * 60_000}} for n in range(5)]
        assert patch_blocks(platform, *large_blocks).status_and_code == "409 limit_exceeded"
        assert list_blocks(platform) == [build_block("ant")]

    def test_forty_blocks_replace_forty_others(self, platform):
        for prefix in ("one", "other"):
            ids = [f"{prefix}-{n}" for n in range(40)]
            assert [item["projectBlockId"] for item in patch_blocks(platform, *ids).json["items"]] == ids


class TestListProjectBlockPlatforms:
    @pytest.fixture
    def list_names(self, api, organization):
        def list_names(caller: object = organization.owner, block_id: str = "showcase", **query: Any) -> list[str]:
            path = f"/project-blocks/{block_id}/platforms"
            return [item["name"] for item in api.get_items(path, caller=caller, query=query)]

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
        for block_id in ("showcase", "Showcase", "nobodys", "1-showcase"):
            assert list_names(block_id=block_id) == []
        for malformed_id in ("%23", "a%2Fb", "x" * 129):
            answer = platform.api.get(f"/project-blocks/{malformed_id}/platforms", caller=platform.owner)
            assert answer.status_and_code == "404 not_found"


def send_request(space: SpaceClient, name: str) -> ApiResponse:
    """Send a request such as `put chat polls`, `add maps` or `remove chat`, and return the response."""
    method, *keys = name.split()
    capabilities = [{"capabilityKey": key} for key in keys]
    match method:
        case "put":
            return space.put("/capabilities", {"capabilities": capabilities})
        case "add":
            return space.post("/capabilities", capabilities[0])
        case _:
            return space.delete(f"/capabilities/{keys[0]}")


@pytest.mark.parametrize(
    ("first", "second", "outcome", "expected_keys"),
    [
        ("put maps", "put chat", 200, {"chat"}),
        ("put", "put maps", 200, {"maps"}),
        ("add maps", "put chat", 200, {"chat"}),
        ("put chat", "add maps", 201, {"chat", "maps"}),
        ("remove chat", "put chat", 200, {"chat"}),
        ("remove chat", "add maps", 201, {"polls", "maps"}),
        ("add maps", "add maps", "409 already_exists", {"chat", "polls", "maps"}),
        ("put", "remove chat", "404 not_found", set()),
    ],
)
def test_the_second_request_is_retried_on_the_result_of_the_first(
    entries, space, monkeypatch, first, second, outcome, expected_keys
):
    send_request(space, "put chat polls")
    run_before_next_transaction(monkeypatch, lambda: send_request(space, first))
    answer = send_request(space, second)
    assert outcome == (answer.status if answer.status < 400 else answer.status_and_code)
    assert {item["capabilityKey"] for item in space.get("/capabilities").json["items"]} == expected_keys
    later, earlier = entries()[:2]
    if outcome == 200 and earlier["type"] == later["type"]:
        first_result = [item["capabilityKey"] for item in earlier["data"]["items"]]
        assert later["changes"][0]["from"] == first_result


def test_changes_of_different_modules_and_of_different_settings_both_succeed(platform, monkeypatch):
    def change(**module: object) -> dict[str, Json]:
        items = platform.patch("/modules", {"modules": [module]}).expect(200).json["items"]
        return {module["moduleId"]: module for module in items}

    run_before_next_transaction(monkeypatch, lambda: change(moduleId="feed", enabled=False))
    modules = change(moduleId="jobs", enabled=False)
    assert [name for name, module in modules.items() if not module["enabled"]] == ["feed", "jobs"]
    run_before_next_transaction(monkeypatch, lambda: change(moduleId="feed", settings={"a": 1}))
    assert change(moduleId="feed", settings={"b": 1})["feed"]["settings"] == {"a": 1, "b": 1}

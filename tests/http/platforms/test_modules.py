"""The modules of a platform, and the effective modules of a space."""

from typing import Any

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import PlatformClient, SpaceClient

CATALOGUE_IDS = list(MODULE_CATALOGUE)
DEFAULT_FIELDS = {"enabled": True, "locked": False, "settings": {}, "dependsOn": []}
RESET = {"enabled": None, "locked": None, "settings": None}


def patch_modules(platform: PlatformClient, *modules: Json, **options: Any) -> ApiResponse:
    return platform.patch("/modules", {"modules": [*modules]}, **options)


def list_modules(platform: PlatformClient) -> dict[str, Json]:
    return {module["moduleId"]: module for module in platform.get("/modules").json["items"]}


def change_modules(platform: PlatformClient, *modules: Json) -> dict[str, Json]:
    """Change modules and return all modules by id."""
    answer = patch_modules(platform, *modules)
    assert answer.status == 200, answer.text
    assert answer.json == platform.get("/modules").json
    return {module["moduleId"]: module for module in answer.json["items"]}


def test_the_catalogue_is_listed_with_every_module_enabled(platform, mary):
    listed = platform.get("/modules", caller=mary).json
    assert [module["moduleId"] for module in listed["items"]] == CATALOGUE_IDS
    assert listed["nextCursor"] is None
    assert listed["items"][3] == {"moduleId": "events", "name": "Events", "source": "system", **DEFAULT_FIELDS}
    pages = platform.api.get_pages(f"{platform.path}/modules", caller=mary, query={"limit": 5})
    assert [len(page["items"]) for page in pages] == [5, 5, 2]


class TestUpdatePlatformModules:
    def test_the_given_modules_are_changed_and_all_are_returned(self, platform):
        fields = {"moduleId": "events", "enabled": False, "locked": True, "settings": {"view": "month"}}
        modules = change_modules(platform, fields, {"moduleId": "acme.Wiki:v2"})
        assert list(modules) == [*CATALOGUE_IDS, "acme.Wiki:v2"]
        assert modules["events"] == {**fields, "name": "Events", "source": "platform", "dependsOn": []}
        expected = {"moduleId": "acme.Wiki:v2", "name": "acme.Wiki:v2", "source": "platform", **DEFAULT_FIELDS}
        assert modules["acme.Wiki:v2"] == expected
        assert all(modules[name]["source"] == "system" for name in CATALOGUE_IDS if name != "events")
        repeated = change_modules(platform, {"moduleId": "events", "enabled": True, "settings": {"view": True}})
        assert repeated["events"] == {**modules["events"], "enabled": True, "settings": {"view": True}}

    def test_one_invalid_module_rejects_the_whole_request(self, platform):
        feed = {"moduleId": "feed", "enabled": False}
        response = patch_modules(
            platform,
            feed,
            {"moduleId": "-nd"},
            {"enabled": 1},
            {"moduleId": "jobs", "dependsOn": []},
            {"moduleId": "home", "settings": []},
        )
        assert response.errors == {
            "/modules/1/moduleId": "malformed",
            "/modules/2/moduleId": "required",
            "/modules/2/enabled": "wrong_type",
            "/modules/3/dependsOn": "unknown_field",
            "/modules/4/settings": "wrong_type",
        }
        assert patch_modules(platform, feed, {"moduleId": "feed"}).errors == {"/modules/1/moduleId": "repeated"}
        assert all(module["enabled"] for module in list_modules(platform).values())

    def test_the_size_of_settings_is_limited(self, platform):
        change_modules(platform, {"moduleId": "feed", "settings": {"a": "x" * 40_000}})
        response = patch_modules(platform, {"moduleId": "jobs"}, {"moduleId": "feed", "settings": {"b": "x" * 40_000}})
        assert response.errors == {"/modules/1/settings": "too_large"}
        large_modules = [{"moduleId": name, "settings": {"a": "x" * 60_000}} for name in CATALOGUE_IDS[2:7]]
        assert patch_modules(platform, *large_modules).status_and_code == "409 limit_exceeded"

    def test_a_request_has_at_most_forty_modules_and_a_platform_a_hundred(self, platform):
        modules = [{"moduleId": f"own-{n}"} for n in range(100)]
        assert patch_modules(platform, *modules[:41]).errors == {"/modules": "too_many"}
        for start in (0, 40, 80):
            change_modules(platform, *modules[start : start + 40])
        assert patch_modules(platform, {"moduleId": "one-more"}).status_and_code == "409 limit_exceeded"
        page = platform.get("/modules").json
        assert (len(page["items"]), page["nextCursor"]) == (112, None)

    def test_the_entry_shows_every_changed_module(self, api, organization, platform):
        before = change_modules(platform, {"moduleId": "wiki"})
        wiki: Json = {"moduleId": "wiki", **RESET}
        after = change_modules(platform, {"moduleId": "events", "enabled": False}, {"moduleId": "blog"}, wiki)
        entry = list_entries(api, organization)[0]
        assert entry["type"] == "platform.modules.updated"
        assert entry["target"] == {"type": "platform.modules", "id": platform.id, "name": "Engines"}
        assert entry["changes"] == [
            {"field": "items", "from": [*before], "to": [*after]},
            {"field": "items.events", "from": before["events"], "to": after["events"]},
            {"field": "items.blog", "from": None, "to": after["blog"]},
            {"field": "items.wiki", "from": before["wiki"], "to": None},
        ]
        assert (entry["data"]["version"], entry["data"]["items"]) == (3, [*after.values()])


def test_the_effective_modules_of_a_space_combine_those_of_the_platform_with_its_overrides(
    platform, other_platform, space, new_space
):
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
        override = {"moduleId": module_id, "settings": settings}
        assert space.post("/module-overrides", override).status == 201
    effective, settings = list_effective(), {"a": {"b": 1, "d": 2}, "c": []}
    assert effective["feed"] == {**feed, "source": "space", "inherited": False, "settings": settings, "blockedBy": []}
    assert [name for name, module in effective.items() if not module["enabled"]] == ["wiki"], "the platform lacks it"
    inherited = list_effective(new_space(platform, name="Mills"))
    assert (inherited["feed"]["source"], inherited["feed"]["enabled"]) == ("platform", False)
    assert "wiki" not in inherited
    change_modules(platform, {"moduleId": "feed", "enabled": True, "locked": True}, {"moduleId": "wiki"})
    effective = list_effective()
    locked = {"source": "platform", "locked": True, "settings": {"a": {"b": 1}, "c": [1]}}
    assert effective["feed"] == {**feed, **locked, "blockedBy": []}
    assert (effective["wiki"]["enabled"], effective["wiki"]["source"]) == (True, "space")

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
        modules = change_modules(platform, fields)
        assert modules["events"] == {**fields, "name": "Events", "source": "platform", "dependsOn": []}
        assert all(module["source"] == "system" for name, module in modules.items() if name != "events")
        repeated = change_modules(platform, {"moduleId": "events", "enabled": True})
        assert repeated["events"] == {**modules["events"], "enabled": True}

    def test_custom_modules_are_listed_last(self, platform):
        modules = change_modules(platform, {"moduleId": "acme.Wiki:v2"}, {"moduleId": "acme.blog", "enabled": False})
        assert list(modules) == [*CATALOGUE_IDS, "acme.Wiki:v2", "acme.blog"]
        expected = {"moduleId": "acme.Wiki:v2", "name": "acme.Wiki:v2", "source": "platform", **DEFAULT_FIELDS}
        assert modules["acme.Wiki:v2"] == expected

    def test_settings_are_merged(self, platform):
        def merge(settings: Json) -> Json:
            return dict(change_modules(platform, {"moduleId": "feed", "settings": settings})["feed"]["settings"])

        merge({"a": {"b": 1, "c": [1]}, "d": 1})
        assert merge({"a": {"b": None, "c": [2]}, "e": True}) == {"a": {"c": [2]}, "d": 1, "e": True}
        assert merge({"d": True})["d"] is True  # Python considers 1 and True equal.

    def test_null_resets_a_field_and_a_module_with_every_field_reset_is_removed(self, platform):
        before = platform.get("/modules").json
        feed = {"moduleId": "feed", "enabled": False, "locked": True, "settings": {"a": 1}}
        change_modules(platform, feed, {"moduleId": "wiki", "settings": {"a": 1}})
        modules = change_modules(platform, {"moduleId": "feed", "enabled": None, "locked": None})
        assert (modules["feed"]["enabled"], modules["feed"]["locked"]) == (True, False)
        assert (modules["feed"]["settings"], modules["feed"]["source"]) == ({"a": 1}, "platform")
        change_modules(platform, {"moduleId": "feed", **RESET}, {"moduleId": "wiki", **RESET})
        assert platform.get("/modules").json == before

    def test_setting_the_current_values_changes_nothing(self, api, organization, platform):
        change_modules(platform, {"moduleId": "library", "enabled": False})
        log, record = list_entries(api, organization), platform.read()
        change_modules(platform)
        for module in (
            {"moduleId": "events"},
            {"moduleId": "events", "enabled": None},
            {"moduleId": "library", "enabled": False},
            {"moduleId": "unknown", **RESET},
        ):
            change_modules(platform, module)
        assert list_entries(api, organization) == log
        assert platform.read() == record

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

    def test_a_change_is_a_new_version_of_the_platform(self, platform):
        headers = {"If-Match": platform.get().etag}
        assert patch_modules(platform, {"moduleId": "feed", "enabled": False}, headers=headers).status == 200
        response = patch_modules(platform, {"moduleId": "jobs", "enabled": False}, headers=headers)
        assert response.status_and_code == "412 precondition_failed"


class TestListEffectiveModules:
    def list_effective(self, space: SpaceClient) -> dict[str, Json]:
        listed = space.get("/effective-modules").json
        assert listed["nextCursor"] is None
        return {module["moduleId"]: module for module in listed["items"]}

    def set_override(self, space: SpaceClient, module: str, **fields: Any) -> None:
        assert space.post("/module-overrides", {"moduleId": module, **fields}).status in (200, 201)

    def test_a_new_space_has_the_modules_of_the_catalogue(self, space):
        modules = self.list_effective(space)
        assert list(modules) == CATALOGUE_IDS
        expected = {"moduleId": "events", "enabled": True, "source": "system", "inherited": True}
        assert modules["events"] == {**expected, "locked": False, "settings": {}, "blockedBy": []}

    def test_the_space_overrides_the_platform(self, platform, space):
        change_modules(platform, {"moduleId": "feed", "enabled": False, "settings": {"a": {"b": 1}, "c": [1]}})
        feed = self.list_effective(space)["feed"]
        assert (feed["source"], feed["enabled"]) == ("platform", False)
        self.set_override(space, "feed", settings={"a": {"d": 2}, "c": []})
        expected = {"moduleId": "feed", "enabled": True, "source": "space", "inherited": False, "locked": False}
        settings = {"a": {"b": 1, "d": 2}, "c": []}
        assert self.list_effective(space)["feed"] == {**expected, "settings": settings, "blockedBy": []}
        space.delete("/module-overrides/feed")
        assert self.list_effective(space)["feed"]["source"] == "platform"

    def test_a_locked_module_cannot_be_overridden(self, platform, space):
        self.set_override(space, "feed", enabled=False, settings={"a": 1})
        change_modules(platform, {"moduleId": "feed", "enabled": True, "locked": True})
        feed = self.list_effective(space)["feed"]
        assert (feed["enabled"], feed["locked"], feed["inherited"]) == (True, True, True)
        assert (feed["source"], feed["settings"]) == ("platform", {})
        change_modules(platform, {"moduleId": "feed", "locked": False})
        assert self.list_effective(space)["feed"]["source"] == "space"

    def test_a_module_that_the_platform_lacks_is_disabled(self, platform, space):
        self.set_override(space, "wiki", enabled=True, settings={"a": 1})
        assert list(self.list_effective(space)) == [*CATALOGUE_IDS, "wiki"]
        assert not self.list_effective(space)["wiki"]["enabled"]
        change_modules(platform, {"moduleId": "wiki"})
        wiki = self.list_effective(space)["wiki"]
        assert (wiki["enabled"], wiki["source"], wiki["settings"]) == (True, "space", {"a": 1})

    def test_overrides_apply_to_one_space_and_changes_to_one_platform(self, platform, other_platform, space, new_space):
        other_space = new_space(platform, name="Mills")
        self.set_override(space, "feed", enabled=False)
        change_modules(other_platform, {"moduleId": "jobs", "enabled": False})
        for each, disabled in ((space, ["feed"]), (other_space, [])):
            modules = self.list_effective(each)
            assert [name for name, module in modules.items() if not module["enabled"]] == disabled

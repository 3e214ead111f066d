"""The modules of a platform, and the effective modules of a space."""

from typing import Any

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key
from tests.harness.platforms import CreatedPlatform, CreatedSpace, create_platform

CATALOGUE_IDS = list(MODULE_CATALOGUE)


def patch_modules(api: ApiClient, platform: CreatedPlatform, *modules: Json, **options: Any) -> ApiResponse:
    return api.patch(f"{platform.path}/modules", json={"modules": [*modules]}, **{"caller": platform.owner, **options})


def change_modules(api: ApiClient, platform: CreatedPlatform, *modules: Json) -> dict[str, Json]:
    """Change modules and return all modules by id."""
    answer = patch_modules(api, platform, *modules)
    assert answer.status == 200, answer.text
    assert answer.json == api.get(f"{platform.path}/modules", caller=platform.owner).json
    return {module["moduleId"]: module for module in answer.json["items"]}


class TestListPlatformModules:
    def test_the_catalogue_is_listed_with_every_module_enabled(self, api, platform, mary):
        listed = api.get(f"{platform.path}/modules", caller=mary).json
        assert [module["moduleId"] for module in listed["items"]] == CATALOGUE_IDS
        assert listed["nextCursor"] is None
        assert listed["items"][3] == {
            "moduleId": "events",
            "name": "Events",
            "enabled": True,
            "locked": False,
            "settings": {},
            "source": "system",
            "dependsOn": [],
        }

    def test_a_page_can_be_smaller(self, api, platform):
        pages = api.get_pages(f"{platform.path}/modules", caller=platform.owner, query={"limit": 5})
        assert [len(page["items"]) for page in pages] == [5, 5, 2]
        answer = api.get(f"{platform.path}/modules", caller=platform.owner, query={"limit": 0})
        assert answer.errors == {"query/limit": "out_of_range"}

    def test_strangers_do_not_find_the_platform(self, api, platform, stranger):
        assert api.get(f"{platform.path}/modules", caller=stranger).status_and_code == "404 not_found"


class TestUpdatePlatformModules:
    def test_the_given_modules_are_changed_and_all_are_returned(self, api, platform):
        fields = {"moduleId": "events", "enabled": False, "locked": True, "settings": {"view": "month"}}
        modules = change_modules(api, platform, fields)
        assert modules["events"] == {**fields, "name": "Events", "source": "platform", "dependsOn": []}
        assert all(module["source"] == "system" for name, module in modules.items() if name != "events")
        repeated = change_modules(api, platform, {"moduleId": "events", "enabled": True})
        assert repeated["events"] == {**modules["events"], "enabled": True}

    def test_custom_modules_are_listed_last(self, api, platform):
        modules = change_modules(
            api, platform, {"moduleId": "acme.Wiki:v2"}, {"moduleId": "acme.blog", "enabled": False}
        )
        assert list(modules) == [*CATALOGUE_IDS, "acme.Wiki:v2", "acme.blog"]
        assert modules["acme.Wiki:v2"] == {
            "moduleId": "acme.Wiki:v2",
            "name": "acme.Wiki:v2",
            "enabled": True,
            "locked": False,
            "settings": {},
            "source": "platform",
            "dependsOn": [],
        }

    def test_settings_are_merged(self, api, platform):
        change_modules(api, platform, {"moduleId": "feed", "settings": {"a": {"b": 1, "c": [1]}, "d": 1}})
        modules = change_modules(
            api, platform, {"moduleId": "feed", "settings": {"a": {"b": None, "c": [2]}, "e": True}}
        )
        assert modules["feed"]["settings"] == {"a": {"c": [2]}, "d": 1, "e": True}
        modules = change_modules(api, platform, {"moduleId": "feed", "settings": {"d": True}})
        assert modules["feed"]["settings"]["d"] is True  # Python considers 1 and True equal.

    def test_null_resets_a_field_to_its_default(self, api, platform):
        change_modules(api, platform, {"moduleId": "feed", "enabled": False, "locked": True, "settings": {"a": 1}})
        modules = change_modules(api, platform, {"moduleId": "feed", "enabled": None, "locked": None})
        assert (modules["feed"]["enabled"], modules["feed"]["locked"]) == (True, False)
        assert (modules["feed"]["settings"], modules["feed"]["source"]) == ({"a": 1}, "platform")

    def test_a_module_with_every_field_reset_is_removed(self, api, platform):
        before = api.get(f"{platform.path}/modules", caller=platform.owner).json
        change_modules(
            api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "wiki", "settings": {"a": 1}}
        )
        reset = {"enabled": None, "locked": None, "settings": None}
        change_modules(api, platform, {"moduleId": "feed", **reset}, {"moduleId": "wiki", **reset})
        assert api.get(f"{platform.path}/modules", caller=platform.owner).json == before

    @pytest.mark.parametrize(
        "modules",
        [
            (),
            ({"moduleId": "events"},),
            ({"moduleId": "events", "enabled": None},),
            ({"moduleId": "library", "enabled": False},),
            ({"moduleId": "unknown", "enabled": None, "locked": None, "settings": None},),
        ],
    )
    def test_setting_the_current_values_changes_nothing(self, api, organization, platform, modules):
        change_modules(api, platform, {"moduleId": "library", "enabled": False})
        log, record = list_entries(api, organization), api.get(platform.path, caller=platform.owner).json
        change_modules(api, platform, *modules)
        assert list_entries(api, organization) == log
        assert api.get(platform.path, caller=platform.owner).json == record

    def test_one_invalid_module_rejects_the_whole_request(self, api, platform):
        response = patch_modules(
            api,
            platform,
            {"moduleId": "feed", "enabled": False},
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
        response = patch_modules(api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "feed"})
        assert response.errors == {"/modules/1/moduleId": "repeated"}
        listed = api.get(f"{platform.path}/modules", caller=platform.owner).json["items"]
        assert all(module["enabled"] for module in listed)

    def test_the_size_of_settings_is_limited(self, api, platform):
        change_modules(api, platform, {"moduleId": "feed", "settings": {"a": "x" * 40_000}})
        response = patch_modules(
            api, platform, {"moduleId": "jobs"}, {"moduleId": "feed", "settings": {"b": "x" * 40_000}}
        )
        assert response.errors == {"/modules/1/settings": "too_large"}
        large_modules = [{"moduleId": name, "settings": {"a": "x" * 60_000}} for name in CATALOGUE_IDS[2:7]]
        assert patch_modules(api, platform, *large_modules).status_and_code == "409 limit_exceeded"

    def test_a_request_has_at_most_forty_modules_and_a_platform_a_hundred(self, api, platform):
        def build_modules(first: int, count: int) -> list[Json]:
            return [{"moduleId": f"own-{n}"} for n in range(first, first + count)]

        assert patch_modules(api, platform, *build_modules(0, 41)).errors == {"/modules": "too_many"}
        for first, count in ((0, 40), (40, 40), (80, 20)):
            change_modules(api, platform, *build_modules(first, count))
        assert patch_modules(api, platform, {"moduleId": "one-more"}).status_and_code == "409 limit_exceeded"
        page = api.get(f"{platform.path}/modules", caller=platform.owner).json
        assert (len(page["items"]), page["nextCursor"]) == (112, None)

    def test_the_entry_shows_every_changed_module(self, api, organization, platform):
        change_modules(api, platform, {"moduleId": "wiki"})
        before = {m["moduleId"]: m for m in api.get(f"{platform.path}/modules", caller=platform.owner).json["items"]}
        after = change_modules(
            api,
            platform,
            {"moduleId": "events", "enabled": False},
            {"moduleId": "blog"},
            {"moduleId": "wiki", "enabled": None, "locked": None, "settings": None},
        )
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

    def test_a_change_is_a_new_version_of_the_platform(self, api, platform):
        etag = api.get(platform.path, caller=platform.owner).etag
        assert (
            patch_modules(api, platform, {"moduleId": "feed", "enabled": False}, headers={"If-Match": etag}).status
            == 200
        )
        response = patch_modules(api, platform, {"moduleId": "jobs", "enabled": False}, headers={"If-Match": etag})
        assert response.status_and_code == "412 precondition_failed"

    def test_only_admins_change_modules(self, api, organization, platform, grace, edith):
        change = {"moduleId": "feed", "enabled": False}
        assert patch_modules(api, platform, change, caller=edith).status_and_code == "403 insufficient_role"
        assert (
            patch_modules(api, platform, change, caller=create_api_key(api, organization, "write")).status_and_code
            == "403 insufficient_scope"
        )
        assert patch_modules(api, platform, change, caller=grace).status == 200
        assert (
            patch_modules(api, platform, change, caller=create_api_key(api, organization, "platforms:write")).status
            == 200
        )


class TestListEffectiveModules:
    def list_effective(self, api: ApiClient, space: CreatedSpace) -> dict[str, Json]:
        listed = api.get(f"{space.path}/effective-modules", caller=space.platform.owner).json
        assert listed["nextCursor"] is None
        return {module["moduleId"]: module for module in listed["items"]}

    def set_override(self, api: ApiClient, space: CreatedSpace, module: str, **fields: Any) -> None:
        answer = api.post(
            f"{space.path}/module-overrides", caller=space.platform.owner, json={"moduleId": module, **fields}
        )
        assert answer.status in (200, 201)

    def test_a_new_space_has_the_modules_of_the_catalogue(self, api, space):
        modules = self.list_effective(api, space)
        assert list(modules) == CATALOGUE_IDS
        assert modules["events"] == {
            "moduleId": "events",
            "enabled": True,
            "source": "system",
            "inherited": True,
            "locked": False,
            "settings": {},
            "blockedBy": [],
        }

    def test_the_space_overrides_the_platform(self, api, space):
        change_modules(
            api, space.platform, {"moduleId": "feed", "enabled": False, "settings": {"a": {"b": 1}, "c": [1]}}
        )
        assert self.list_effective(api, space)["feed"]["source"] == "platform"
        assert not self.list_effective(api, space)["feed"]["enabled"]
        self.set_override(api, space, "feed", settings={"a": {"d": 2}, "c": []})
        assert self.list_effective(api, space)["feed"] == {
            "moduleId": "feed",
            "enabled": True,
            "source": "space",
            "inherited": False,
            "locked": False,
            "settings": {"a": {"b": 1, "d": 2}, "c": []},
            "blockedBy": [],
        }
        api.delete(f"{space.path}/module-overrides/feed", caller=space.platform.owner)
        assert self.list_effective(api, space)["feed"]["source"] == "platform"

    def test_a_locked_module_cannot_be_overridden(self, api, space):
        self.set_override(api, space, "feed", enabled=False, settings={"a": 1})
        change_modules(api, space.platform, {"moduleId": "feed", "enabled": True, "locked": True})
        feed = self.list_effective(api, space)["feed"]
        assert (feed["enabled"], feed["locked"], feed["inherited"]) == (True, True, True)
        assert (feed["source"], feed["settings"]) == ("platform", {})
        change_modules(api, space.platform, {"moduleId": "feed", "locked": False})
        assert self.list_effective(api, space)["feed"]["source"] == "space"

    def test_a_module_that_the_platform_lacks_is_disabled(self, api, space):
        self.set_override(api, space, "wiki", enabled=True, settings={"a": 1})
        assert list(self.list_effective(api, space)) == [*CATALOGUE_IDS, "wiki"]
        assert not self.list_effective(api, space)["wiki"]["enabled"]
        change_modules(api, space.platform, {"moduleId": "wiki"})
        wiki = self.list_effective(api, space)["wiki"]
        assert (wiki["enabled"], wiki["source"], wiki["settings"]) == (True, "space", {"a": 1})

    def test_overrides_apply_to_one_space_and_changes_to_one_platform(self, api, organization, space):
        self.set_override(api, space, "feed", enabled=False)
        other = create_platform(api, organization, name="Mills")
        change_modules(api, other, {"moduleId": "jobs", "enabled": False})
        assert [name for name, module in self.list_effective(api, space).items() if not module["enabled"]] == ["feed"]

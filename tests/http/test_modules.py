"""The modules of a platform, and the effective modules of a space."""

from typing import Any

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, Running, run_platform

CATALOGUE_IDS = list(MODULE_CATALOGUE)


def patch_modules(api: Api, platform: Running, *modules: Json, **options: Any) -> Answer:
    return api.patch(f"{platform.path}/modules", json={"modules": [*modules]}, **{"as_": platform.owner, **options})


def change_modules(api: Api, platform: Running, *modules: Json) -> dict[str, Json]:
    """Change modules and return all modules by id."""
    answer = patch_modules(api, platform, *modules)
    assert answer.status == 200, answer.text
    assert answer.json == api.get(f"{platform.path}/modules", as_=platform.owner).json
    return {module["moduleId"]: module for module in answer.json["items"]}


class TestListPlatformModules:
    def test_the_catalogue_is_listed_with_every_module_enabled(self, api: Api, platform: Running, mary: Person) -> None:
        listed = api.get(f"{platform.path}/modules", as_=mary).json
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

    def test_a_page_can_be_smaller(self, api: Api, platform: Running) -> None:
        pages = api.pages(f"{platform.path}/modules", as_=platform.owner, query={"limit": 5})
        assert [len(page["items"]) for page in pages] == [5, 5, 2]
        answer = api.get(f"{platform.path}/modules", as_=platform.owner, query={"limit": 0})
        assert answer.faults == {"query/limit": "out_of_range"}

    def test_strangers_do_not_find_the_platform(self, api: Api, platform: Running, stranger: Person) -> None:
        assert api.get(f"{platform.path}/modules", as_=stranger).code == "404 not_found"


class TestUpdatePlatformModules:
    def test_the_given_modules_are_changed_and_all_are_returned(self, api: Api, platform: Running) -> None:
        fields = {"moduleId": "events", "enabled": False, "locked": True, "settings": {"view": "month"}}
        modules = change_modules(api, platform, fields)
        assert modules["events"] == {**fields, "name": "Events", "source": "platform", "dependsOn": []}
        assert all(module["source"] == "system" for name, module in modules.items() if name != "events")
        repeated = change_modules(api, platform, {"moduleId": "events", "enabled": True})
        assert repeated["events"] == {**modules["events"], "enabled": True}

    def test_custom_modules_are_listed_last(self, api: Api, platform: Running) -> None:
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

    def test_settings_are_merged(self, api: Api, platform: Running) -> None:
        change_modules(api, platform, {"moduleId": "feed", "settings": {"a": {"b": 1, "c": [1]}, "d": 1}})
        modules = change_modules(
            api, platform, {"moduleId": "feed", "settings": {"a": {"b": None, "c": [2]}, "e": True}}
        )
        assert modules["feed"]["settings"] == {"a": {"c": [2]}, "d": 1, "e": True}
        modules = change_modules(api, platform, {"moduleId": "feed", "settings": {"d": True}})
        assert modules["feed"]["settings"]["d"] is True  # Python considers 1 and True equal.

    def test_null_resets_a_field_to_its_default(self, api: Api, platform: Running) -> None:
        change_modules(api, platform, {"moduleId": "feed", "enabled": False, "locked": True, "settings": {"a": 1}})
        modules = change_modules(api, platform, {"moduleId": "feed", "enabled": None, "locked": None})
        assert (modules["feed"]["enabled"], modules["feed"]["locked"]) == (True, False)
        assert (modules["feed"]["settings"], modules["feed"]["source"]) == ({"a": 1}, "platform")

    def test_a_module_with_every_field_reset_is_removed(self, api: Api, platform: Running) -> None:
        before = api.get(f"{platform.path}/modules", as_=platform.owner).json
        change_modules(
            api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "wiki", "settings": {"a": 1}}
        )
        reset = {"enabled": None, "locked": None, "settings": None}
        change_modules(api, platform, {"moduleId": "feed", **reset}, {"moduleId": "wiki", **reset})
        assert api.get(f"{platform.path}/modules", as_=platform.owner).json == before

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
    def test_setting_the_current_values_changes_nothing(
        self, api: Api, organization: Founded, platform: Running, modules: tuple[Json, ...]
    ) -> None:
        change_modules(api, platform, {"moduleId": "library", "enabled": False})
        log, record = log_of(api, organization), api.get(platform.path, as_=platform.owner).json
        change_modules(api, platform, *modules)
        assert log_of(api, organization) == log
        assert api.get(platform.path, as_=platform.owner).json == record

    def test_one_invalid_module_rejects_the_whole_request(self, api: Api, platform: Running) -> None:
        response = patch_modules(
            api,
            platform,
            {"moduleId": "feed", "enabled": False},
            {"moduleId": "-nd"},
            {"enabled": 1},
            {"moduleId": "jobs", "dependsOn": []},
            {"moduleId": "home", "settings": []},
        )
        assert response.faults == {
            "/modules/1/moduleId": "malformed",
            "/modules/2/moduleId": "required",
            "/modules/2/enabled": "wrong_type",
            "/modules/3/dependsOn": "unknown_field",
            "/modules/4/settings": "wrong_type",
        }
        response = patch_modules(api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "feed"})
        assert response.faults == {"/modules/1/moduleId": "repeated"}
        listed = api.get(f"{platform.path}/modules", as_=platform.owner).json["items"]
        assert all(module["enabled"] for module in listed)

    def test_the_size_of_settings_is_limited(self, api: Api, platform: Running) -> None:
        change_modules(api, platform, {"moduleId": "feed", "settings": {"a": "x" * 40_000}})
        response = patch_modules(
            api, platform, {"moduleId": "jobs"}, {"moduleId": "feed", "settings": {"b": "x" * 40_000}}
        )
        assert response.faults == {"/modules/1/settings": "too_large"}
        large_modules = [{"moduleId": name, "settings": {"a": "x" * 60_000}} for name in CATALOGUE_IDS[2:7]]
        assert patch_modules(api, platform, *large_modules).code == "409 limit_exceeded"

    def test_a_request_has_at_most_forty_modules_and_a_platform_a_hundred(self, api: Api, platform: Running) -> None:
        def build_modules(first: int, count: int) -> list[Json]:
            return [{"moduleId": f"own-{n}"} for n in range(first, first + count)]

        assert patch_modules(api, platform, *build_modules(0, 41)).faults == {"/modules": "too_many"}
        for first, count in ((0, 40), (40, 40), (80, 20)):
            change_modules(api, platform, *build_modules(first, count))
        assert patch_modules(api, platform, {"moduleId": "one-more"}).code == "409 limit_exceeded"
        page = api.get(f"{platform.path}/modules", as_=platform.owner).json
        assert (len(page["items"]), page["nextCursor"]) == (112, None)

    def test_the_entry_shows_every_changed_module(self, api: Api, organization: Founded, platform: Running) -> None:
        change_modules(api, platform, {"moduleId": "wiki"})
        before = {m["moduleId"]: m for m in api.get(f"{platform.path}/modules", as_=platform.owner).json["items"]}
        after = change_modules(
            api,
            platform,
            {"moduleId": "events", "enabled": False},
            {"moduleId": "blog"},
            {"moduleId": "wiki", "enabled": None, "locked": None, "settings": None},
        )
        entry = log_of(api, organization)[0]
        assert entry["type"] == "platform.modules.updated"
        assert entry["target"] == {"type": "platform.modules", "id": platform.id, "name": "Engines"}
        assert entry["changes"] == [
            {"field": "items", "from": [*before], "to": [*after]},
            {"field": "items.events", "from": before["events"], "to": after["events"]},
            {"field": "items.blog", "from": None, "to": after["blog"]},
            {"field": "items.wiki", "from": before["wiki"], "to": None},
        ]
        assert (entry["data"]["version"], entry["data"]["items"]) == (3, [*after.values()])

    def test_a_change_is_a_new_version_of_the_platform(self, api: Api, platform: Running) -> None:
        etag = api.get(platform.path, as_=platform.owner).etag
        assert (
            patch_modules(api, platform, {"moduleId": "feed", "enabled": False}, headers={"If-Match": etag}).status
            == 200
        )
        response = patch_modules(api, platform, {"moduleId": "jobs", "enabled": False}, headers={"If-Match": etag})
        assert response.code == "412 precondition_failed"

    def test_only_admins_change_modules(
        self, api: Api, organization: Founded, platform: Running, grace: Person, edith: Person
    ) -> None:
        change = {"moduleId": "feed", "enabled": False}
        assert patch_modules(api, platform, change, as_=edith).code == "403 insufficient_role"
        assert (
            patch_modules(api, platform, change, as_=make_key(api, organization, "write")).code
            == "403 insufficient_scope"
        )
        assert patch_modules(api, platform, change, as_=grace).status == 200
        assert patch_modules(api, platform, change, as_=make_key(api, organization, "platforms:write")).status == 200


class TestListEffectiveModules:
    def list_effective(self, api: Api, space: Room) -> dict[str, Json]:
        listed = api.get(f"{space.path}/effective-modules", as_=space.platform.owner).json
        assert listed["nextCursor"] is None
        return {module["moduleId"]: module for module in listed["items"]}

    def set_override(self, api: Api, space: Room, module: str, **fields: Any) -> None:
        answer = api.post(
            f"{space.path}/module-overrides", as_=space.platform.owner, json={"moduleId": module, **fields}
        )
        assert answer.status in (200, 201)

    def test_a_new_space_has_the_modules_of_the_catalogue(self, api: Api, looms: Room) -> None:
        modules = self.list_effective(api, looms)
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

    def test_the_space_overrides_the_platform(self, api: Api, looms: Room) -> None:
        change_modules(
            api, looms.platform, {"moduleId": "feed", "enabled": False, "settings": {"a": {"b": 1}, "c": [1]}}
        )
        assert self.list_effective(api, looms)["feed"]["source"] == "platform"
        assert not self.list_effective(api, looms)["feed"]["enabled"]
        self.set_override(api, looms, "feed", settings={"a": {"d": 2}, "c": []})
        assert self.list_effective(api, looms)["feed"] == {
            "moduleId": "feed",
            "enabled": True,
            "source": "space",
            "inherited": False,
            "locked": False,
            "settings": {"a": {"b": 1, "d": 2}, "c": []},
            "blockedBy": [],
        }
        api.delete(f"{looms.path}/module-overrides/feed", as_=looms.platform.owner)
        assert self.list_effective(api, looms)["feed"]["source"] == "platform"

    def test_a_locked_module_cannot_be_overridden(self, api: Api, looms: Room) -> None:
        self.set_override(api, looms, "feed", enabled=False, settings={"a": 1})
        change_modules(api, looms.platform, {"moduleId": "feed", "enabled": True, "locked": True})
        feed = self.list_effective(api, looms)["feed"]
        assert (feed["enabled"], feed["locked"], feed["inherited"]) == (True, True, True)
        assert (feed["source"], feed["settings"]) == ("platform", {})
        change_modules(api, looms.platform, {"moduleId": "feed", "locked": False})
        assert self.list_effective(api, looms)["feed"]["source"] == "space"

    def test_a_module_that_the_platform_lacks_is_disabled(self, api: Api, looms: Room) -> None:
        self.set_override(api, looms, "wiki", enabled=True, settings={"a": 1})
        assert list(self.list_effective(api, looms)) == [*CATALOGUE_IDS, "wiki"]
        assert not self.list_effective(api, looms)["wiki"]["enabled"]
        change_modules(api, looms.platform, {"moduleId": "wiki"})
        wiki = self.list_effective(api, looms)["wiki"]
        assert (wiki["enabled"], wiki["source"], wiki["settings"]) == (True, "space", {"a": 1})

    def test_overrides_apply_to_one_space_and_changes_to_one_platform(
        self, api: Api, organization: Founded, looms: Room
    ) -> None:
        self.set_override(api, looms, "feed", enabled=False)
        other = run_platform(api, organization, name="Mills")
        change_modules(api, other, {"moduleId": "jobs", "enabled": False})
        assert [name for name, module in self.list_effective(api, looms).items() if not module["enabled"]] == ["feed"]

"""The modules of a platform, and what is left of them in a space."""

from typing import Any

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, Running, run_platform

ORDER = list(MODULE_CATALOGUE)


def patch(api: Api, platform: Running, *modules: Json, **words: Any) -> Answer:
    return api.patch(f"{platform.path}/modules", json={"modules": [*modules]}, **{"as_": platform.owner, **words})


def changed(api: Api, platform: Running, *modules: Json) -> dict[str, Json]:
    """Change modules with success; return all by their ids."""
    answer = patch(api, platform, *modules)
    assert answer.status == 200, answer.text
    assert answer.json == api.get(f"{platform.path}/modules", as_=platform.owner).json
    return {module["moduleId"]: module for module in answer.json["items"]}


class TestListPlatformModules:
    def test_shows_the_catalogue_with_all_on(self, api: Api, platform: Running, mary: Person) -> None:
        listed = api.get(f"{platform.path}/modules", as_=mary).json
        assert [module["moduleId"] for module in listed["items"]] == ORDER
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

    def test_a_page_may_be_smaller(self, api: Api, platform: Running) -> None:
        pages = api.pages(f"{platform.path}/modules", as_=platform.owner, query={"limit": 5})
        assert [len(page["items"]) for page in pages] == [5, 5, 2]
        answer = api.get(f"{platform.path}/modules", as_=platform.owner, query={"limit": 0})
        assert answer.faults == {"query/limit": "out_of_range"}

    def test_strangers_find_no_platform(self, api: Api, platform: Running, stranger: Person) -> None:
        assert api.get(f"{platform.path}/modules", as_=stranger).code == "404 not_found"


class TestUpdatePlatformModules:
    def test_changes_those_named_and_answers_all(self, api: Api, platform: Running) -> None:
        sent = {"moduleId": "events", "enabled": False, "locked": True, "settings": {"view": "month"}}
        modules = changed(api, platform, sent)
        assert modules["events"] == {**sent, "name": "Events", "source": "platform", "dependsOn": []}
        assert all(module["source"] == "system" for name, module in modules.items() if name != "events")
        again = changed(api, platform, {"moduleId": "events", "enabled": True})
        assert again["events"] == {**modules["events"], "enabled": True}

    def test_a_module_of_its_own_comes_last(self, api: Api, platform: Running) -> None:
        modules = changed(api, platform, {"moduleId": "acme.Wiki:v2"}, {"moduleId": "acme.blog", "enabled": False})
        assert list(modules) == [*ORDER, "acme.Wiki:v2", "acme.blog"]
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
        changed(api, platform, {"moduleId": "feed", "settings": {"a": {"b": 1, "c": [1]}, "d": 1}})
        modules = changed(api, platform, {"moduleId": "feed", "settings": {"a": {"b": None, "c": [2]}, "e": True}})
        assert modules["feed"]["settings"] == {"a": {"c": [2]}, "d": 1, "e": True}
        modules = changed(api, platform, {"moduleId": "feed", "settings": {"d": True}})
        assert modules["feed"]["settings"]["d"] is True  # To Python, it was true before.

    def test_null_stands_for_the_default(self, api: Api, platform: Running) -> None:
        changed(api, platform, {"moduleId": "feed", "enabled": False, "locked": True, "settings": {"a": 1}})
        modules = changed(api, platform, {"moduleId": "feed", "enabled": None, "locked": None})
        assert (modules["feed"]["enabled"], modules["feed"]["locked"]) == (True, False)
        assert (modules["feed"]["settings"], modules["feed"]["source"]) == ({"a": 1}, "platform")

    def test_what_the_platform_forgets_is_as_it_never_said(self, api: Api, platform: Running) -> None:
        before = api.get(f"{platform.path}/modules", as_=platform.owner).json
        changed(api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "wiki", "settings": {"a": 1}})
        nothing = {"enabled": None, "locked": None, "settings": None}
        changed(api, platform, {"moduleId": "feed", **nothing}, {"moduleId": "wiki", **nothing})
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
    def test_what_is_so_already_changes_and_tells_nothing(
        self, api: Api, organization: Founded, platform: Running, modules: tuple[Json, ...]
    ) -> None:
        changed(api, platform, {"moduleId": "library", "enabled": False})
        log, record = log_of(api, organization), api.get(platform.path, as_=platform.owner).json
        changed(api, platform, *modules)
        assert log_of(api, organization) == log
        assert api.get(platform.path, as_=platform.owner).json == record

    def test_one_that_is_wrong_keeps_all_from_being_done(self, api: Api, platform: Running) -> None:
        refused = patch(
            api,
            platform,
            {"moduleId": "feed", "enabled": False},
            {"moduleId": "-nd"},
            {"enabled": 1},
            {"moduleId": "jobs", "dependsOn": []},
            {"moduleId": "home", "settings": []},
        )
        assert refused.faults == {
            "/modules/1/moduleId": "malformed",
            "/modules/2/moduleId": "required",
            "/modules/2/enabled": "wrong_type",
            "/modules/3/dependsOn": "unknown_field",
            "/modules/4/settings": "wrong_type",
        }
        twice = patch(api, platform, {"moduleId": "feed", "enabled": False}, {"moduleId": "feed"})
        assert twice.faults == {"/modules/1/moduleId": "repeated"}
        listed = api.get(f"{platform.path}/modules", as_=platform.owner).json["items"]
        assert all(module["enabled"] for module in listed)

    def test_settings_grow_as_far_as_they_may(self, api: Api, platform: Running) -> None:
        changed(api, platform, {"moduleId": "feed", "settings": {"a": "x" * 40_000}})
        refused = patch(api, platform, {"moduleId": "jobs"}, {"moduleId": "feed", "settings": {"b": "x" * 40_000}})
        assert refused.faults == {"/modules/1/settings": "too_large"}
        many = [{"moduleId": name, "settings": {"a": "x" * 60_000}} for name in ORDER[2:7]]
        assert patch(api, platform, *many).code == "409 limit_exceeded"

    def test_forty_at_once_and_a_hundred_in_all(self, api: Api, platform: Running) -> None:
        def named(first: int, number: int) -> list[Json]:
            return [{"moduleId": f"own-{n}"} for n in range(first, first + number)]

        assert patch(api, platform, *named(0, 41)).faults == {"/modules": "too_many"}
        for first, number in ((0, 40), (40, 40), (80, 20)):
            changed(api, platform, *named(first, number))
        assert patch(api, platform, {"moduleId": "one-more"}).code == "409 limit_exceeded"
        whole = api.get(f"{platform.path}/modules", as_=platform.owner).json
        assert (len(whole["items"]), whole["nextCursor"]) == (112, None)

    def test_the_entry_tells_what_became_of_them(self, api: Api, organization: Founded, platform: Running) -> None:
        changed(api, platform, {"moduleId": "wiki"})
        before = {m["moduleId"]: m for m in api.get(f"{platform.path}/modules", as_=platform.owner).json["items"]}
        after = changed(
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

    def test_it_is_another_version_of_the_platform(self, api: Api, platform: Running) -> None:
        seen = api.get(platform.path, as_=platform.owner).etag
        assert patch(api, platform, {"moduleId": "feed", "enabled": False}, headers={"If-Match": seen}).status == 200
        stale = patch(api, platform, {"moduleId": "jobs", "enabled": False}, headers={"If-Match": seen})
        assert stale.code == "412 precondition_failed"

    def test_only_admins_may(
        self, api: Api, organization: Founded, platform: Running, grace: Person, edith: Person
    ) -> None:
        off = {"moduleId": "feed", "enabled": False}
        assert patch(api, platform, off, as_=edith).code == "403 insufficient_role"
        assert patch(api, platform, off, as_=make_key(api, organization, "write")).code == "403 insufficient_scope"
        assert patch(api, platform, off, as_=grace).status == 200
        assert patch(api, platform, off, as_=make_key(api, organization, "platforms:write")).status == 200


class TestListEffectiveModules:
    def effective(self, api: Api, space: Room) -> dict[str, Json]:
        listed = api.get(f"{space.path}/effective-modules", as_=space.platform.owner).json
        assert listed["nextCursor"] is None
        return {module["moduleId"]: module for module in listed["items"]}

    def override(self, api: Api, space: Room, module: str, **fields: Any) -> None:
        answer = api.post(
            f"{space.path}/module-overrides", as_=space.platform.owner, json={"moduleId": module, **fields}
        )
        assert answer.status in (200, 201)

    def test_at_first_all_are_the_catalogues(self, api: Api, looms: Room) -> None:
        modules = self.effective(api, looms)
        assert list(modules) == ORDER
        assert modules["events"] == {
            "moduleId": "events",
            "enabled": True,
            "source": "system",
            "inherited": True,
            "locked": False,
            "settings": {},
            "blockedBy": [],
        }

    def test_the_platform_decides_and_then_the_space(self, api: Api, looms: Room) -> None:
        changed(api, looms.platform, {"moduleId": "feed", "enabled": False, "settings": {"a": {"b": 1}, "c": [1]}})
        assert self.effective(api, looms)["feed"]["source"] == "platform"
        assert not self.effective(api, looms)["feed"]["enabled"]
        self.override(api, looms, "feed", settings={"a": {"d": 2}, "c": []})
        assert self.effective(api, looms)["feed"] == {
            "moduleId": "feed",
            "enabled": True,
            "source": "space",
            "inherited": False,
            "locked": False,
            "settings": {"a": {"b": 1, "d": 2}, "c": []},
            "blockedBy": [],
        }
        api.delete(f"{looms.path}/module-overrides/feed", as_=looms.platform.owner)
        assert self.effective(api, looms)["feed"]["source"] == "platform"

    def test_what_is_locked_is_as_the_platform_says(self, api: Api, looms: Room) -> None:
        self.override(api, looms, "feed", enabled=False, settings={"a": 1})
        changed(api, looms.platform, {"moduleId": "feed", "enabled": True, "locked": True})
        feed = self.effective(api, looms)["feed"]
        assert (feed["enabled"], feed["locked"], feed["inherited"]) == (True, True, True)
        assert (feed["source"], feed["settings"]) == ("platform", {})
        changed(api, looms.platform, {"moduleId": "feed", "locked": False})
        assert self.effective(api, looms)["feed"]["source"] == "space"

    def test_what_the_platform_lacks_is_off(self, api: Api, looms: Room) -> None:
        self.override(api, looms, "wiki", enabled=True, settings={"a": 1})
        assert list(self.effective(api, looms)) == [*ORDER, "wiki"]
        assert not self.effective(api, looms)["wiki"]["enabled"]
        changed(api, looms.platform, {"moduleId": "wiki"})
        wiki = self.effective(api, looms)["wiki"]
        assert (wiki["enabled"], wiki["source"], wiki["settings"]) == (True, "space", {"a": 1})

    def test_another_platform_and_another_space_have_their_own(
        self, api: Api, organization: Founded, looms: Room
    ) -> None:
        self.override(api, looms, "feed", enabled=False)
        other = run_platform(api, organization, name="Mills")
        changed(api, other, {"moduleId": "jobs", "enabled": False})
        assert [name for name, module in self.effective(api, looms).items() if not module["enabled"]] == ["feed"]

"""Modules match a model over HTTP after any sequence of changes of a platform and its space.

The model contains the last state. Each change creates a version and a log entry, and nothing else does.
"""

import json
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.platforms import CreatedSpace, create_platform, create_space

IDS: Final = ("events", "feed", "wiki", "blog")
EMPTY_CHANGE: Final = {"enabled": None, "locked": None, "settings": None}

ids = st.sampled_from(IDS)
flags = st.booleans()
values = st.sampled_from([0, 1, True, "x", [1], {"y": 1}, {"z": {}}])
settings_values = st.dictionaries(st.sampled_from("ab"), values, max_size=2)
changes = st.fixed_dictionaries(
    {},
    optional={
        "enabled": flags | st.none(),
        "locked": flags | st.none(),
        "settings": st.dictionaries(st.sampled_from("ab"), values | st.none(), max_size=2) | st.none(),
    },
) | st.just(EMPTY_CHANGE)
overrides = st.fixed_dictionaries({}, optional={"enabled": flags, "settings": settings_values})


def exact_json(value: Any) -> str:
    """Return JSON that distinguishes all values. In Python, 1 == True."""
    return json.dumps(value, sort_keys=True)


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the result of a JSON Merge Patch (RFC 7396, section 2)."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge_patch(target.get(name), value)
    return target


def deep_merge(base: Json, override: Json) -> Json:
    nested_names = {n for n in override if isinstance(override[n], dict) and isinstance(base.get(n), dict)}
    return {**base, **override, **{name: deep_merge(base[name], override[name]) for name in nested_names}}


class ModulesMachine(RuleBasedStateMachine):
    """Compares the service with the model. `platform`, `space`: the settings as they were sent."""

    def __init__(self, api: ApiClient, ada: Person) -> None:
        """Start with a platform and a space without settings."""
        super().__init__()
        self.api, self.ada = api, ada
        self.platform: dict[str, Json] = {}
        self.space: dict[str, Json] = {}
        self.organization, self.space_record = snapshots.create_or_restore(
            ("a space without settings",), self._create_space
        )
        self.entry_count = len(list_entries(api, self.organization))
        self.versions = self._versions()

    def _create_space(self) -> tuple[CreatedOrganization, CreatedSpace]:
        organization = create_organization(self.api, self.ada)
        return organization, create_space(self.api, create_platform(self.api, organization))

    @rule(module_changes=st.dictionaries(ids, changes, max_size=3))
    def change_modules(self, module_changes: dict[str, Json]) -> None:
        before = exact_json(self.platform)
        for name, change in module_changes.items():
            self._change(name, change)
        modules = [{"moduleId": name, **change} for name, change in module_changes.items()]
        response = self.api.patch(
            f"{self.space_record.platform.path}/modules", caller=self.ada, json={"modules": modules}
        )
        self._assert_response(response, 200, changed=before != exact_json(self.platform), at_platform=True)

    def _change(self, name: str, change: Json) -> None:
        if change == EMPTY_CHANGE:
            self.platform.pop(name, None)
            return
        state = merge_patch(self.platform.get(name, {}), change)
        state = {
            n: v for n, v in state.items() if not (n == "locked" and v is False) and not (n == "settings" and not v)
        }
        if state or name not in MODULE_CATALOGUE:
            self.platform[name] = state
        else:
            self.platform.pop(name, None)

    @rule(name=ids, override=overrides)
    def put_override(self, name: str, override: Json) -> None:
        expected = {"enabled": True, "settings": {}, **override}
        existing = self.space.get(name)
        self.space[name] = expected
        response = self.api.post(
            f"{self.space_record.path}/module-overrides", caller=self.ada, json={"moduleId": name, **override}
        )
        self._assert_response(response, 200 if existing else 201, changed=exact_json(existing) != exact_json(expected))

    @rule(overrides_by_id=st.dictionaries(ids, overrides, max_size=4))
    def replace_overrides(self, overrides_by_id: dict[str, Json]) -> None:
        complete = {name: {"enabled": True, "settings": {}, **override} for name, override in overrides_by_id.items()}
        changed = exact_json(complete) != exact_json(self.space)
        kept_overrides = {name: complete[name] for name in self.space if name in complete}
        self.space = kept_overrides | complete
        request_overrides = [{"moduleId": name, **override} for name, override in overrides_by_id.items()]
        response = self.api.put(
            f"{self.space_record.path}/module-overrides", caller=self.ada, json={"overrides": request_overrides}
        )
        self._assert_response(response, 200, changed=changed)

    @rule(name=ids)
    def delete_override(self, name: str) -> None:
        deleted = self.space.pop(name, None)
        response = self.api.delete(f"{self.space_record.path}/module-overrides/{name}", caller=self.ada)
        self._assert_response(response, 204 if deleted else 404, changed=deleted is not None)

    @invariant()
    def all_settings_are_as_last_sent(self) -> None:
        listed = {module["moduleId"]: module for module in self._items(f"{self.space_record.platform.path}/modules")}
        custom_ids = [name for name in self.platform if name not in MODULE_CATALOGUE]
        assert [*listed] == [*MODULE_CATALOGUE, *custom_ids]
        for name, module in listed.items():
            state = self.platform.get(name)
            assert exact_json(module["settings"]) == exact_json((state or {}).get("settings", {}))
            assert (module["enabled"], module["locked"], module["source"]) == (
                (state or {}).get("enabled", True),
                (state or {}).get("locked", False),
                "system" if state is None else "platform",
            )
        listed_overrides = [
            (item["moduleId"], item["enabled"], item["settings"]) for item in self._items(self._overrides)
        ]
        assert exact_json(listed_overrides) == exact_json(
            [(name, o["enabled"], o["settings"]) for name, o in self.space.items()]
        )

    @invariant()
    def effective_modules_combine_platform_and_space(self) -> None:
        effective = {
            module["moduleId"]: module for module in self._items(f"{self.space_record.path}/effective-modules")
        }
        assert {*effective} == {*MODULE_CATALOGUE, *self.platform, *self.space}
        for name, module in effective.items():
            state, override = self.platform.get(name, {}), self.space.get(name)
            exists = name in MODULE_CATALOGUE or name in self.platform
            applied_override = override if exists and not state.get("locked") else None
            assert module["enabled"] is (exists and (applied_override or state).get("enabled", True))
            assert module["inherited"] is (applied_override is None)
            base = state.get("settings", {})
            assert exact_json(module["settings"]) == exact_json(
                deep_merge(base, applied_override["settings"]) if applied_override else base
            )

    @property
    def _overrides(self) -> str:
        return f"{self.space_record.path}/module-overrides"

    def _items(self, path: str) -> list[Json]:
        items: list[Json] = self.api.get(path, caller=self.ada).json["items"]
        return items

    def _versions(self) -> tuple[int, int]:
        at_platform, in_space = (
            self.api.get(p, caller=self.ada) for p in (self.space_record.platform.path, self.space_record.path)
        )
        return at_platform.json["version"], in_space.json["version"]

    def _assert_response(self, response: ApiResponse, status: int, *, changed: bool, at_platform: bool = False) -> None:
        assert response.status == status, response.text
        self.entry_count += changed
        assert len(list_entries(self.api, self.organization, limit=100)) == self.entry_count
        platform_version, space_version = self.versions
        self.versions = (
            platform_version + (changed and at_platform),
            space_version + (changed and not at_platform),
        )
        assert self._versions() == self.versions


def test_modules_match_their_model_after_any_changes(api, ada):
    class Machine(ModulesMachine):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Machine, settings=settings(deadline=None, max_examples=8, stateful_step_count=16))

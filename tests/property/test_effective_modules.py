"""The effective modules of a space follow from the catalogue, the platform and the space."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.logic.effective_modules import (
    configured_modules,
    deep_merge,
    effective_modules,
)
from chalicelib.features.platforms.modules.logic.module_changes import states_of_changed_modules
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE, ModuleDefinition
from chalicelib.features.platforms.modules.models.schemas import ModuleChange
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.core.problems import Problem

NAMES = tuple("abcdefgh")
CATALOGUE_NAMES = NAMES[:6]

names = st.sampled_from(NAMES)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from("xy"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
settings_values = st.dictionaries(st.sampled_from("xyz"), json_values, max_size=3)
catalogues = st.fixed_dictionaries(
    {
        name: st.builds(ModuleDefinition, st.just(name.upper()), st.lists(names, max_size=2, unique=True).map(tuple))
        for name in CATALOGUE_NAMES
    }
)
"""Modules that depend on others, on themselves and on each other in cycles. Some exist only at a platform."""

states = st.fixed_dictionaries(
    {"enabled": st.none() | st.booleans(), "locked": st.booleans(), "settings": settings_values}
)
overrides = st.fixed_dictionaries({"enabled": st.booleans(), "settings": settings_values})
own_states = st.fixed_dictionaries(
    {
        "enabled": st.none() | st.booleans(),
        "locked": st.booleans(),
        "settings": settings_values,
        "depends_on": st.lists(names, max_size=2, unique=True),
    }
)
catalogue_states = st.dictionaries(st.sampled_from(CATALOGUE_NAMES), states, max_size=6)
platforms = st.dictionaries(st.sampled_from(NAMES[6:]), own_states, max_size=2).flatmap(
    lambda own: catalogue_states.map(lambda known: known | own)
)
"""The settings of a platform's modules. Those of its own can depend on others, too."""
spaces = st.dictionaries(names, overrides, max_size=8)


def build_modules(kind, states_by_name):
    place = {"organization_id": "o", "platform_id": "p", **({"space_id": "s"} if kind is ModuleOverride else {})}
    base_fields = {**new_id_and_time_fields(now()), **place}
    return [kind(**base_fields, module_id=name, **state) for name, state in states_by_name.items()]


def resolve_modules(catalogue, platform, space):
    configured = configured_modules(build_modules(PlatformModule, platform), catalogue)
    effective = effective_modules(configured, build_modules(ModuleOverride, space))
    by_id = {module.module_id: module for module in effective}
    assert len(by_id) == len(effective)
    return by_id


@given(catalogues, platforms, spaces)
@settings(max_examples=100)
def test_every_module_is_consistent_with_its_source(catalogue, platform, space):
    modules = resolve_modules(catalogue, platform, space)
    assert set(modules) == {*catalogue, *platform, *space}
    for name, module in modules.items():
        platform_state, override = platform.get(name), space.get(name)
        exists = name in catalogue or platform_state is not None
        enabled_by_platform = exists and (platform_state is None or platform_state["enabled"] is not False)
        override_applies = exists and override is not None and not (platform_state and platform_state["locked"])
        assert module.locked == bool(platform_state and platform_state["locked"])
        assert module.inherited is (exists and not override_applies)
        match module.source:
            case "system":
                assert (module.enabled, platform_state, override_applies) == (True, None, False)
            case "platform":
                assert (module.enabled, override_applies) == (enabled_by_platform, False)
                assert platform_state is not None
            case "space":
                assert override_applies or not exists
                assert module.enabled is (exists and override["enabled"])
            case "dependency":
                assert not module.enabled
                assert override["enabled"] if override_applies else enabled_by_platform
        definition = catalogue.get(name)
        assert [*module.depends_on] == [
            *(definition.depends_on if definition else (platform_state or {}).get("depends_on", ()))
        ]
        disabled = [other for other in module.depends_on if other not in modules or not modules[other].enabled]
        is_ineffective = override is not None and not override_applies
        reasons = ["locked" if exists else "unknown_module"] if is_ineffective else []
        assert list(module.blocked_by) == reasons + (disabled if module.source == "dependency" else [])
        assert disabled or module.source != "dependency"
        assert not (module.enabled and disabled)
        base = (platform_state or {}).get("settings", {})
        assert module.settings == deep_merge(base, override["settings"] if override_applies else {})


@given(catalogues, platforms, spaces)
@settings(max_examples=50)
def test_all_modules_with_enabled_dependencies_are_enabled(catalogue, platform, space):
    modules = resolve_modules(catalogue, platform, space)
    disabled = {name for name, module in modules.items() if not module.enabled and module.source != "dependency"}
    while blocked := {
        name
        for name, module in modules.items()
        if name not in disabled and any(n in disabled or n not in modules for n in module.depends_on)
    }:
        disabled |= blocked
    assert disabled == {name for name, module in modules.items() if not module.enabled}


@given(catalogues, platforms, spaces)
@settings(max_examples=50)
def test_a_locked_module_is_equal_in_every_space_and_at_the_platform(catalogue, platform, space):
    locked = {name: {**state, "locked": True} for name, state in platform.items()}
    everything = {**{name: {"enabled": True, "locked": True, "settings": {}} for name in catalogue}, **locked}
    in_space, at_platform = resolve_modules(catalogue, everything, space), resolve_modules(catalogue, everything, {})
    for name, module in at_platform.items():
        reasons = ["locked"] if name in space else []
        assert in_space[name] == replace(module, blocked_by=in_space[name].blocked_by)
        assert [*in_space[name].blocked_by] == [*reasons, *module.blocked_by]
    assert not any(in_space[name].enabled for name in in_space.keys() - at_platform.keys())


@given(settings_values, settings_values)
def test_merging_prefers_the_second_value_and_merges_objects(base, addition):
    merged = deep_merge(base, addition)
    assert set(merged) == {*base, *addition}
    assert deep_merge(merged, addition) == merged
    assert deep_merge(base, {}) == base
    assert deep_merge({}, addition) == addition
    for name, value in addition.items():
        is_nested = isinstance(value, dict) and isinstance(base.get(name), dict)
        assert merged[name] == (deep_merge(base[name], value) if is_nested else value)


flags = st.none() | st.booleans()
fields = st.fixed_dictionaries(
    {}, optional={"enabled": flags, "locked": flags, "settings": st.none() | settings_values}
)
ids = st.sampled_from([*list(MODULE_CATALOGUE)[:2], "custom"])


@given(st.dictionaries(ids, states), st.dictionaries(ids, fields, max_size=3))
def test_changes_are_applied_and_idempotent(platform, requested):
    before = {module.module_id: module for module in build_modules(PlatformModule, platform)}
    changes = [ModuleChange.model_validate({"moduleId": name, **change}) for name, change in requested.items()]
    changed_states = states_of_changed_modules(before, changes)
    assert set(changed_states) == set(requested)
    for name, state in changed_states.items():
        requested_change = requested[name]
        if state is None:
            assert name in MODULE_CATALOGUE or requested_change == {"enabled": None, "locked": None, "settings": None}
            continue
        previous = platform.get(name, {"enabled": None, "locked": False})
        assert state.enabled is requested_change.get("enabled", previous["enabled"])
        assert state.locked is bool(requested_change.get("locked", previous["locked"]))
    stored = {name: state.to_stored_fields_with_defaults() for name, state in changed_states.items() if state}
    after = {module.module_id: module for module in build_modules(PlatformModule, stored)}
    assert states_of_changed_modules(after, changes) == changed_states


RESET = {"enabled": None, "locked": None, "settings": None}
own_ids = st.sampled_from("abc")
dependencies = st.lists(st.sampled_from(["a", "b", "c", "feed"]), max_size=2)


def with_indirect_dependencies(ids, dependencies_by_id):
    found = set(ids)
    while new := {each for name in found for each in dependencies_by_id.get(name, ())} - found:
        found |= new
    return found


@given(st.lists(st.dictionaries(own_ids, st.none() | dependencies, min_size=1), max_size=6))
def test_dependencies_exist_and_have_no_cycle(requests):
    stored: dict[str, PlatformModule] = {}
    for request in requests:  # A module without a list is removed.
        after = {name: module.depends_on or [] for name, module in stored.items()} | request
        after = {name: ids for name, ids in after.items() if ids is not None}
        exist = all(each in after or each == "feed" for ids in after.values() for each in ids)
        has_cycle = any(name in with_indirect_dependencies(ids, after) for name, ids in after.items())
        fields_by_name = {name: RESET if ids is None else {"dependsOn": ids} for name, ids in request.items()}
        changes = [ModuleChange.model_validate({"moduleId": name, **fields}) for name, fields in fields_by_name.items()]
        if has_cycle or not exist:
            with pytest.raises(Problem) as rejected:
                states_of_changed_modules(stored, changes)
            assert rejected.value.code == ("cycle" if exist else "validation_failed")
            continue
        states = states_of_changed_modules(stored, changes)
        new = {name: state.to_stored_fields_with_defaults() for name, state in states.items() if state}
        unchanged = {name: module for name, module in stored.items() if name not in states}
        stored = unchanged | {module.module_id: module for module in build_modules(PlatformModule, new)}
        assert {name: {*(module.depends_on or ())} for name, module in stored.items()} == {
            n: {*ids} for n, ids in after.items()
        }

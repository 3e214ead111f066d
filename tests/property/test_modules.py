"""Which modules are on, whatever catalogue, platform and space say: every answer follows from its reasons."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.logic import (
    EffectiveModule,
    apply_changes,
    configured_modules,
    deep_merge,
    effective_modules,
)
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE, ModuleDefinition
from chalicelib.features.platforms.modules.models.schemas import ModuleChange
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_record_fields

NAMES = tuple("abcdefgh")
OF_THE_CATALOGUE = NAMES[:6]
PLACE: dict[str, Any] = {"organization_id": "o", "platform_id": "p"}

names = st.sampled_from(NAMES)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from("xy"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
free_form = st.dictionaries(st.sampled_from("xyz"), json_values, max_size=3)
catalogues = st.fixed_dictionaries(
    {
        name: st.builds(ModuleDefinition, st.just(name.upper()), st.lists(names, max_size=2, unique=True).map(tuple))
        for name in OF_THE_CATALOGUE
    }
)
"""Modules that need others, themselves, each other in a circle, and some that only a platform can add."""

states = st.fixed_dictionaries({"enabled": st.none() | st.booleans(), "locked": st.booleans(), "settings": free_form})
platforms = st.dictionaries(names, states, max_size=8)
spaces = st.dictionaries(names, st.fixed_dictionaries({"enabled": st.booleans(), "settings": free_form}), max_size=8)

States = Mapping[str, Mapping[str, Any]]


def stored(platform: States) -> list[PlatformModule]:
    return [PlatformModule(**new_record_fields(now()), **PLACE, module_id=n, **state) for n, state in platform.items()]


def overriding(space: States) -> list[ModuleOverride]:
    return [
        ModuleOverride(**new_record_fields(now()), **PLACE, space_id="s", module_id=n, **o) for n, o in space.items()
    ]


def resolved(catalogue: Mapping[str, ModuleDefinition], platform: States, space: States) -> dict[str, EffectiveModule]:
    found = effective_modules(configured_modules(stored(platform), catalogue), overriding(space))
    by_id = {module.module_id: module for module in found}
    assert len(by_id) == len(found)
    return by_id


@given(catalogues, platforms, spaces)
@settings(max_examples=300)
def test_every_module_is_as_its_reasons_say(
    catalogue: Mapping[str, ModuleDefinition], platform: States, space: States
) -> None:
    modules = resolved(catalogue, platform, space)
    assert set(modules) == {*catalogue, *platform, *space}
    for name, module in modules.items():
        said, override = platform.get(name), space.get(name)
        exists = name in catalogue or said is not None
        by_platform = exists and (said is None or said["enabled"] is not False)
        counts = exists and override is not None and not (said and said["locked"])
        assert module.locked == bool(said and said["locked"])
        assert module.inherited is not counts
        match module.source:
            case "system":
                assert module.enabled
                assert said is None
                assert not counts
            case "platform":
                assert module.enabled is by_platform
                assert not counts
                assert said is not None or not exists
            case "space":
                assert override is not None
                assert counts
                assert module.enabled is override["enabled"]
            case "dependency":
                assert not module.enabled
                assert override["enabled"] if counts and override else by_platform
        off = [needed for needed in module.depends_on if needed not in modules or not modules[needed].enabled]
        assert list(module.blocked_by) == (off if module.source == "dependency" else [])
        assert bool(module.blocked_by) is (module.source == "dependency")
        assert not (module.enabled and off)


@given(catalogues, platforms, spaces)
def test_all_that_can_work_does(catalogue: Mapping[str, ModuleDefinition], platform: States, space: States) -> None:
    modules = resolved(catalogue, platform, space)
    off = {name for name, module in modules.items() if not module.enabled and module.source != "dependency"}
    while more := {
        name
        for name, module in modules.items()
        if name not in off and any(n in off or n not in modules for n in module.depends_on)
    }:
        off |= more
    assert off == {name for name, module in modules.items() if not module.enabled}


@given(catalogues, platforms, spaces)
def test_settings_are_those_of_the_platform_with_those_of_an_override_that_counts_merged_in(
    catalogue: Mapping[str, ModuleDefinition], platform: States, space: States
) -> None:
    for name, module in resolved(catalogue, platform, space).items():
        base = platform.get(name, {}).get("settings", {})
        over = {} if module.inherited else space[name]["settings"]
        assert module.settings == deep_merge(base, over)


@given(catalogues, platforms, spaces, names)
def test_an_override_that_was_removed_leaves_nothing(
    catalogue: Mapping[str, ModuleDefinition], platform: States, space: States, name: str
) -> None:
    never = {other: override for other, override in space.items() if other != name}
    added = {**never, name: {"enabled": False, "settings": {"x": 1}}}
    del added[name]
    assert resolved(catalogue, platform, added) == resolved(catalogue, platform, never)


@given(catalogues, platforms, spaces)
def test_what_is_locked_is_in_every_space_as_at_the_platform(
    catalogue: Mapping[str, ModuleDefinition], platform: States, space: States
) -> None:
    locked = {name: {**state, "locked": True} for name, state in platform.items()}
    everything = {**{name: {"enabled": True, "locked": True, "settings": {}} for name in catalogue}, **locked}
    here, without = resolved(catalogue, everything, space), resolved(catalogue, everything, {})
    assert {name: here[name] for name in without} == without
    assert not any(here[name].enabled for name in here.keys() - without.keys())


@given(free_form, free_form)
def test_merging_keeps_what_only_one_has_and_of_what_both_have_the_latter(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    merged = deep_merge(base, over)
    assert set(merged) == {*base, *over}
    assert deep_merge(merged, over) == merged
    assert deep_merge(base, {}) == base
    assert deep_merge({}, over) == over
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(name), dict)
        assert merged[name] == (deep_merge(base[name], value) if both else value)


fields = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.none() | st.booleans(),
        "locked": st.none() | st.booleans(),
        "settings": st.none() | free_form,
    },
)
ids = st.sampled_from([*list(MODULE_CATALOGUE)[:2], "custom"])


@given(st.dictionaries(ids, states), st.dictionaries(ids, fields, max_size=3))
def test_changes_do_what_they_name_and_doing_them_again_does_nothing(
    platform: States, sent: Mapping[str, Mapping[str, Any]]
) -> None:
    before = {module.module_id: module for module in stored(platform)}
    changes = [ModuleChange.model_validate({"moduleId": name, **said}) for name, said in sent.items()]
    said = apply_changes(before, changes)
    assert set(said) == set(sent)
    for name, state in said.items():
        wanted = sent[name]
        if state is None:
            assert name in MODULE_CATALOGUE or wanted == {"enabled": None, "locked": None, "settings": None}
            continue
        known = platform.get(name, {"enabled": None, "locked": False})
        assert state.enabled is wanted.get("enabled", known["enabled"])
        assert state.locked is bool(wanted.get("locked", known["locked"]))
    after = {
        n: PlatformModule(**new_record_fields(now()), **PLACE, module_id=n, **s.fields()) for n, s in said.items() if s
    }
    assert apply_changes(after, changes) == said

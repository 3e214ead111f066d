"""The effective state of modules, without I/O.

The state of a module follows from the catalogue, then the platform, then the space, and finally its dependencies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE, ModuleDefinition
from chalicelib.features.platforms.modules.models.schemas import (
    EffectiveModuleSource,
    ModuleChange,
    ModuleState,
    PlatformModuleSource,
)
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.validation import merge_patch, validate_value


@dataclass(frozen=True)
class ConfiguredModule:
    """A module of a platform, with the settings of the platform. `source` tells whether the platform has any."""

    module_id: str
    name: str
    depends_on: Sequence[str] = ()
    enabled: bool = True
    locked: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: PlatformModuleSource = "system"


@dataclass(frozen=True)
class EffectiveModule:
    """The effective state of a module.

    `inherited` is true if no override applies. `blocked_by` holds the ids of dependencies that are off.
    """

    module_id: str
    name: str
    depends_on: Sequence[str]
    enabled: bool
    locked: bool
    settings: Mapping[str, Any]
    source: EffectiveModuleSource
    inherited: bool = True
    blocked_by: Sequence[str] = ()


def configured_modules(
    stored: Iterable[PlatformModule], catalogue: Mapping[str, ModuleDefinition] = MODULE_CATALOGUE
) -> list[ConfiguredModule]:
    """Return the modules of a platform: those of the catalogue, then its own in the order of `stored`."""
    stored_by_id = {module.module_id: module for module in stored}
    defined = [
        _configured_module(module_id, definition, stored_by_id.pop(module_id, None))
        for module_id, definition in catalogue.items()
    ]
    return defined + [
        _configured_module(module_id, ModuleDefinition(module_id), module) for module_id, module in stored_by_id.items()
    ]


def _configured_module(module_id: str, definition: ModuleDefinition, stored: PlatformModule | None) -> ConfiguredModule:
    module = ConfiguredModule(module_id, definition.name, definition.depends_on)
    if stored is None:
        return module
    is_enabled = stored.enabled is not False
    return replace(module, enabled=is_enabled, locked=stored.locked, settings=stored.settings, source="platform")


def effective_modules(
    modules: Sequence[ConfiguredModule], overrides: Iterable[ModuleOverride] = ()
) -> list[EffectiveModule]:
    """Return the effective state of a platform's modules, then of overridden modules that the platform lacks."""
    by_id = {override.module_id: override for override in overrides}
    effective = [_effective_module_with_override(module, by_id.pop(module.module_id, None)) for module in modules]
    unknown = [
        EffectiveModule(module_id, module_id, (), enabled=False, locked=False, settings={}, source="platform")
        for module_id in by_id
    ]
    active_ids = _active_ids({module.module_id: module.depends_on for module in effective if module.enabled})
    return [_disabled_if_blocked(module, active_ids) for module in effective] + unknown


def _effective_module_with_override(module: ConfiguredModule, override: ModuleOverride | None) -> EffectiveModule:
    inherited = EffectiveModule(
        module.module_id, module.name, module.depends_on, module.enabled, module.locked, module.settings, module.source
    )
    if override is None or module.locked:
        return inherited
    settings = deep_merge(module.settings, override.settings)
    return replace(inherited, enabled=override.enabled, settings=settings, source="space", inherited=False)


def _active_ids(dependency_ids_by_module: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the largest subset of the enabled modules in which all dependencies are met.

    `dependency_ids_by_module` maps the id of each enabled module to the ids of its dependencies. Cyclic dependencies
    are met.
    """
    active = set(dependency_ids_by_module)
    while blocked := {module_id for module_id in active if not active.issuperset(dependency_ids_by_module[module_id])}:
        active -= blocked
    return active


def _disabled_if_blocked(module: EffectiveModule, active_ids: set[str]) -> EffectiveModule:
    if not module.enabled or module.module_id in active_ids:
        return module
    missing = [module_id for module_id in module.depends_on if module_id not in active_ids]
    return replace(module, enabled=False, source="dependency", blocked_by=missing)


def deep_merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return two JSON objects merged recursively. `overrides` wins where a value is not an object in both."""
    merged = dict(base)
    for name, value in overrides.items():
        base_value = merged.get(name)
        if isinstance(base_value, Mapping) and isinstance(value, Mapping):
            merged[name] = deep_merge(base_value, value)
        else:
            merged[name] = value
    return merged


def states_of_changed_modules(
    stored_modules: Mapping[str, PlatformModule], changes: Sequence[ModuleChange]
) -> dict[str, ModuleState | None]:
    """Return the new states of the changed modules by id; None for modules whose settings are removed.

    `stored_modules` holds the current settings by module id. Raises ValidationProblem with every error in the new
    states.
    """
    states: dict[str, ModuleState | None] = {}
    errors: list[FieldError] = []
    for index, change in enumerate(changes):
        try:
            states[change.module_id] = _new_module_state_or_none(
                stored_modules.get(change.module_id), change, f"/modules/{index}"
            )
        except ValidationProblem as invalid:
            errors += invalid.errors
    if errors:
        raise ValidationProblem(errors)
    return states


def _new_module_state_or_none(
    stored_module: PlatformModule | None, change: ModuleChange, pointer: str
) -> ModuleState | None:
    patch = change.model_dump(exclude_unset=True, exclude={"module_id"})
    if patch == dict.fromkeys(ModuleState.model_fields):
        return None
    before = {name: getattr(stored_module, name) for name in ModuleState.model_fields} if stored_module else {}
    state = validate_value(ModuleState, merge_patch(before, patch), pointer)
    is_default = state == ModuleState() and change.module_id in MODULE_CATALOGUE
    return None if is_default else state

"""The effective state of modules, without I/O.

The state of a module follows from the catalogue, then the platform, then the space, and finally its dependencies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE, ModuleDefinition
from chalicelib.features.platforms.modules.models.schemas import (
    LOCKED,
    UNKNOWN_MODULE,
    EffectiveModuleSource,
    PlatformModuleSource,
)


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

    `inherited` is true if the platform has the module and no override applies. `blocked_by` tells why an override does
    not apply (`LOCKED`, `UNKNOWN_MODULE`), and holds the ids of dependencies that are off.
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
        _configured_module(module_id, ModuleDefinition(module_id, tuple(module.depends_on or ())), module)
        for module_id, module in stored_by_id.items()
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
        EffectiveModule(
            module_id,
            module_id,
            (),
            enabled=False,
            locked=False,
            settings={},
            source="space",
            inherited=False,
            blocked_by=[UNKNOWN_MODULE],
        )
        for module_id in by_id
    ]
    active_ids = _active_ids({module.module_id: module.depends_on for module in effective if module.enabled})
    return [_disabled_if_blocked(module, active_ids) for module in effective] + unknown


def _effective_module_with_override(module: ConfiguredModule, override: ModuleOverride | None) -> EffectiveModule:
    inherited = EffectiveModule(
        module.module_id, module.name, module.depends_on, module.enabled, module.locked, module.settings, module.source
    )
    if override is None:
        return inherited
    if module.locked:
        return replace(inherited, blocked_by=[LOCKED])
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
    return replace(module, enabled=False, source="dependency", blocked_by=[*module.blocked_by, *missing])


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

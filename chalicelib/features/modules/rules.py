"""Which modules are on, and why: pure decisions.

The catalogue decides first, then the platform, then the space, and in the end what a module depends on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chalicelib.features.modules.catalogue import CATALOGUE, Definition
from chalicelib.features.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.modules.models import ModuleChange, ModuleState, PlatformSource, Source
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.validation import merge_patch, validate_value


@dataclass(frozen=True)
class Module:
    """A module of a platform. `source`: who decided whether it is on."""

    module_id: str
    name: str
    depends_on: Sequence[str] = ()
    enabled: bool = True
    locked: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: PlatformSource = "system"


@dataclass(frozen=True)
class Effective:
    """A module as it is in the end. `inherited`: no override counts. `blocked_by`: what it needs and what is off."""

    module_id: str
    name: str
    depends_on: Sequence[str]
    enabled: bool
    locked: bool
    settings: Mapping[str, Any]
    source: Source
    inherited: bool = True
    blocked_by: Sequence[str] = ()


def modules_of(stored: Iterable[PlatformModule], catalogue: Mapping[str, Definition] = CATALOGUE) -> list[Module]:
    """Return the modules of a platform: those of the catalogue, then its own in the order they were stored."""
    said = {module.module_id: module for module in stored}
    defined = [_module(module_id, about, said.pop(module_id, None)) for module_id, about in catalogue.items()]
    return defined + [_module(module_id, Definition(module_id), module) for module_id, module in said.items()]


def _module(module_id: str, about: Definition, said: PlatformModule | None) -> Module:
    module = Module(module_id, about.name, about.depends_on)
    if said is None:
        return module
    enabled = said.enabled is not False
    return replace(module, enabled=enabled, locked=said.locked, settings=said.settings, source="platform")


def effective(modules: Sequence[Module], overrides: Iterable[ModuleOverride] = ()) -> list[Effective]:
    """Return the modules as they are where some overrides hold: the platform's, then those overridden that it lacks."""
    said = {override.module_id: override for override in overrides}
    own = [_overridden(module, said.pop(module.module_id, None)) for module in modules]
    lacking = [
        Effective(module_id, module_id, (), enabled=False, locked=False, settings={}, source="platform")
        for module_id in said
    ]
    on = _working({module.module_id: module.depends_on for module in own if module.enabled})
    return [_blocked(module, on) for module in own] + lacking


def _overridden(module: Module, override: ModuleOverride | None) -> Effective:
    inherited = Effective(
        module.module_id, module.name, module.depends_on, module.enabled, module.locked, module.settings, module.source
    )
    if override is None or module.locked:
        return inherited
    settings = deep_merged(module.settings, override.settings)
    return replace(inherited, enabled=override.enabled, settings=settings, source="space", inherited=False)


def _working(wanted: Mapping[str, Sequence[str]]) -> set[str]:
    """Return which modules are on, of those that are wanted with what they need: the most that have all they need.

    So modules that need each other in a circle are on.
    """
    on = set(wanted)
    while blocked := {module_id for module_id in on if not on.issuperset(wanted[module_id])}:
        on -= blocked
    return on


def _blocked(module: Effective, on: set[str]) -> Effective:
    if not module.enabled or module.module_id in on:
        return module
    missing = [needed for needed in module.depends_on if needed not in on]
    return replace(module, enabled=False, source="dependency", blocked_by=missing)


def deep_merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON objects merged member by member; whatever else both have is that of `over`."""
    merged = dict(base)
    for name, value in over.items():
        known = merged.get(name)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        merged[name] = deep_merged(known, value) if both else value  # type: ignore[arg-type]  # mypy knows not of `both`
    return merged


def changed(said: Mapping[str, PlatformModule], changes: Sequence[ModuleChange]) -> dict[str, ModuleState | None]:
    """Return what a platform says of the modules named, after changes to what it `said`; None of what it forgets.

    Raises Invalid with every fault of what comes out.
    """
    states: dict[str, ModuleState | None] = {}
    faults: list[FieldError] = []
    for number, change in enumerate(changes):
        try:
            states[change.module_id] = _changed(said.get(change.module_id), change, f"/modules/{number}")
        except ValidationProblem as invalid:
            faults += invalid.errors
    if faults:
        raise ValidationProblem(faults)
    return states


def _changed(said: PlatformModule | None, change: ModuleChange, pointer: str) -> ModuleState | None:
    sent = change.model_dump(exclude_unset=True, exclude={"module_id"})
    if sent == dict.fromkeys(ModuleState.model_fields):
        return None
    before = {name: getattr(said, name) for name in ModuleState.model_fields} if said else {}
    state = validate_value(ModuleState, merge_patch(before, sent), pointer)
    nothing = state == ModuleState() and change.module_id in CATALOGUE
    return None if nothing else state

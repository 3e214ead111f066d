"""Changes of the modules of a platform, and the rules of their dependencies, without I/O."""

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from pydantic.alias_generators import to_camel

from chalicelib.features.platforms.models.schemas import Warned
from chalicelib.features.platforms.modules.entities import PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from chalicelib.features.platforms.modules.models.schemas import ModuleChange, ModuleState
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.http.validation import merge_patch, validate_value

_REMOVING_PATCH: Final = {"enabled": None, "locked": None, "settings": None}
"""The change that removes the settings of a module."""

_MAX_SHOWN_IDS: Final = 5
"""Maximum number of module ids in the detail of a problem."""
_MIN_SIMILARITY: Final = 0.8
"""Similarity of a new id to the id of another module above which the new one is probably misspelled."""


def states_of_changed_modules(
    stored_modules: Mapping[str, PlatformModule], changes: Sequence[ModuleChange]
) -> dict[str, ModuleState | None]:
    """Return the new states of the changed modules by id; None for modules whose settings are removed.

    `stored_modules` holds the current settings by module id. Raises ValidationProblem with every error in the new
    states, and Problem `cycle` if a module would depend on itself.
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
    dependency_ids = {
        module_id: state.depends_on or ()
        for module_id, state in {**stored_modules, **states}.items()
        if state and module_id not in MODULE_CATALOGUE
    }
    errors += [*_unknown_dependency_errors(changes, dependency_ids), *_dependent_errors(changes, dependency_ids)]
    if errors:
        raise ValidationProblem(errors)
    _reject_cycle(changes, dependency_ids)
    return states


def _new_module_state_or_none(
    stored_module: PlatformModule | None, change: ModuleChange, pointer: str
) -> ModuleState | None:
    patch = change.model_dump(exclude_unset=True, exclude={"module_id"}, by_alias=True)
    definition = MODULE_CATALOGUE.get(change.module_id)
    if definition and patch.pop("dependsOn", None) not in (None, [*definition.depends_on]):
        detail = "The catalogue sets the dependencies of this module. Omit the field."
        raise ValidationProblem([FieldError(f"{pointer}/dependsOn", "read_only", detail)])
    if {name: value for name, value in patch.items() if value or name != "dependsOn"} == _REMOVING_PATCH:
        return None
    before = {}
    if stored_module:
        before = {to_camel(name): getattr(stored_module, name) for name in ModuleState.model_fields}
    state = validate_value(ModuleState, merge_patch(before, patch), pointer)
    return None if definition and state == ModuleState() else state


def _unknown_dependency_errors(
    changes: Sequence[ModuleChange], dependency_ids: Mapping[str, Sequence[str]]
) -> list[FieldError]:
    """Return an error for each dependency that the platform lacks. `dependency_ids`: by id of its own modules."""
    known_ids = {*MODULE_CATALOGUE, *dependency_ids}
    return [
        FieldError(f"/modules/{index}/dependsOn/{position}", "unknown", "The platform has no module with this id.")
        for index, change in enumerate(changes)
        for position, module_id in enumerate(change.depends_on or () if change.module_id in dependency_ids else ())
        if module_id not in known_ids
    ]


def _dependent_errors(changes: Sequence[ModuleChange], dependency_ids: Mapping[str, Sequence[str]]) -> list[FieldError]:
    """Return an error for each module that is removed although other modules still depend on it."""
    known_ids = {*MODULE_CATALOGUE, *dependency_ids}
    new_dependencies = {change.module_id for change in changes if change.depends_on}
    errors: list[FieldError] = []
    for index, change in enumerate(changes):
        dependents = [
            module_id
            for module_id, ids in dependency_ids.items()
            if change.module_id in ids and change.module_id not in known_ids and module_id not in new_dependencies
        ]
        if dependents:
            detail = f"These modules depend on it: {', '.join(dependents[:_MAX_SHOWN_IDS])}. Change their `dependsOn`."
            errors.append(FieldError(f"/modules/{index}", "has_dependents", detail))
    return errors


def _reject_cycle(changes: Sequence[ModuleChange], dependency_ids: Mapping[str, Sequence[str]]) -> None:
    try:
        TopologicalSorter(dependency_ids).prepare()
    except CycleError as error:
        # Each module of the reversed path depends on the next one.
        path = error.args[1][::-1]
        index = next(i for i, change in enumerate(changes) if change.depends_on and change.module_id in path)
        shown = [*path[:_MAX_SHOWN_IDS], *["…"] * (len(path) > _MAX_SHOWN_IDS)]
        detail = f"The modules would depend on each other: {' → '.join(shown)}. Remove one of the dependencies."
        raise Problem.create_with_field_error(f"/modules/{index}/dependsOn", "cycle", detail) from None


def similar_id_warnings(
    changes: Sequence[ModuleChange], states: Mapping[str, ModuleState | None], stored_ids: Collection[str]
) -> list[Warned]:
    """Return a warning for each module that the changes create and whose id resembles that of an earlier module.

    `states`: the new states by id. `stored_ids`: the ids of the modules that the platform had settings for.
    """
    earlier_ids = {*MODULE_CATALOGUE, *stored_ids}
    new_ids = {
        index: change.module_id
        for index, change in enumerate(changes)
        if states[change.module_id] and change.module_id not in earlier_ids
    }
    return [
        Warned(
            pointer=f"/modules/{index}/moduleId",
            code="similar_id",
            detail=f"'{module_id}' is a new module of this platform. {ask_whether_meant(nearest)} To remove the new"
            " module, send null for its enabled, locked and settings.",
        )
        for index, module_id in new_ids.items()
        if (nearest := _find_similar_ids(module_id, earlier_ids))
    ]


def _find_similar_ids(new_id: str, known_ids: Collection[str]) -> list[str]:
    # Ids that differ only in their numbers, such as `survey-1` and `survey-2`, are a series and no typing error.
    candidates = [each for each in sorted(known_ids) if _without_digits(each) != _without_digits(new_id)]
    return find_nearest_names(new_id, candidates, min_similarity=_MIN_SIMILARITY)


def _without_digits(module_id: str) -> str:
    return "".join(character for character in module_id if not character.isdigit())

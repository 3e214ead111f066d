"""Checks the layout of the features, as far as import contracts cannot express it."""

from collections import Counter
from pathlib import Path

from chalicelib import features
from chalicelib.entrypoints.catalogue import FEATURES, all_operations, all_route_groups
from chalicelib.kernel.permissions.scope_areas import scope_areas

ROOT = Path(features.__file__).parent
ROLES = {"operations", "tasks", "logic", "entities", "models"}
GENERATED = {"declarations"}


def parts_of(file: Path) -> tuple[str, ...]:
    """Return the names in a module's path below the features, without those of `__init__.py` files."""
    return tuple(part for part in file.relative_to(ROOT).with_suffix("").parts if part != "__init__")


def modules() -> list[tuple[str, ...]]:
    return [parts for file in sorted(ROOT.rglob("*.py")) if (parts := parts_of(file))]


def role_index(parts: tuple[str, ...]) -> int | None:
    """Return which part of a path is a role: the second in a context itself, the third in one of its features."""
    return next((index for index, part in enumerate(parts[1:], 1) if part in ROLES), None)


def test_every_module_has_a_role_in_a_context_or_in_one_of_its_features():
    for parts in modules():
        if parts[0] in GENERATED:
            continue
        index = role_index(parts)
        if index is None:
            assert len(parts) <= 2, f"{'.'.join(parts)} is neither a context, a feature nor one of {sorted(ROLES)}"
        else:
            assert index <= 2, f"{'.'.join(parts)}: a feature does not contain others"


def test_every_package_with_operations_or_tasks_is_in_the_catalogue():
    with_work = {".".join(parts[:-1]) for parts in modules() if parts[-1] in ("operations", "tasks")}
    assert with_work == {*FEATURES}


def test_no_module_is_named_like_its_package():
    assert [parts for parts in modules() if len(parts) > 1 and parts[-1] == parts[-2]] == []


def test_every_area_of_scopes_is_declared_by_one_feature():
    declared = Counter(area for group in all_route_groups() for area in group.scope_areas)
    assert set(declared.values()) == {1}
    assert {*declared} == {*scope_areas()}
    used = {operation.scope.partition(":")[0] for operation in all_operations() if operation.scope}
    assert used == {area.name for area in scope_areas()}

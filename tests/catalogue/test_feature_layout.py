"""The layout of the features, as far as import contracts cannot express it, and what a process imports at its start."""

from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Final

import pytest

import chalicelib
from chalicelib import features
from chalicelib.entrypoints.catalogue import FEATURES, all_operations, all_route_groups
from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.fresh_process import run_in_fresh_process

ROOT = Path(features.__file__).parent
ROLES = {"operations", "tasks", "logic", "entities", "models"}
GENERATED = {"declarations"}
MUTABLE_DATACLASSES: Final = {
    *("Context", "Exchange", "Response", "UnitOfWork", "PendingWrite", "TreeReader", "Walk"),
    *("Usage", "RateLimitUsage", "BatchReservingCounter", "_ShardSweep", "_Runner", "_Cluster"),
    *("DatasetCache", "RecordColumns", "ExternalEffect", "UnverifiedCredential"),
    *("Problem", "TransactionCancelled", "IdempotencyKeyConflict"),
}
"""The state of requests, transactions and work, caches, and exceptions, which Python changes itself."""


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


LAZY_MODULES: Final = (
    *("cryptography", "jwt", "dns", "jinja2", "markdown", "markdown_it", "nh3", "idna", "tzdata", "httpx", "requests"),
    *("httpcore", "h11", "publicsuffixlist", "chalicelib.kernel.outbound.egress"),
    *("aws_xray_sdk", "moto", "pytest", "openapi_spec_validator", "jsonschema"),
    *("chalicelib.entrypoints.documentation", "chalicelib.entrypoints.openapi", "chalicelib.entrypoints.workers"),
    *(
        "aws_lambda_powertools.utilities.batch",
        "chalicelib.kernel.crypto.checkpoints",
        "chalicelib.kernel.audit_log.ledger",
    ),
)
"""Modules that few requests need, which are imported where they are used."""


def test_importing_app_imports_no_feature_and_none_of_these_packages_and_creates_no_client():
    program = """
import json, sys
import app
from chalicelib.kernel.core import aws
print(json.dumps({"modules": sorted(sys.modules), "clients": aws._client.cache_info().currsize}))
"""
    imported = run_in_fresh_process(program)
    assert {*imported["modules"]} & {*LAZY_MODULES} == set()
    features = {name for name in imported["modules"] if f"{name}.".startswith("chalicelib.features.")}
    assert features == {"chalicelib.features", "chalicelib.features.declarations"}
    assert imported["clients"] == 0


@pytest.mark.usefixtures("aws")  # For its settings. An anonymous caller is rejected before any call to AWS.
def test_a_request_imports_its_own_feature(configure):
    configure(**PLACEHOLDER_KEY_SETTINGS)  # Chalice's test client uses the stage `dev`.
    program = """
import json, sys
import app
from chalice.test import Client
answer = Client(app.app).http.get("/organizations/01939d3c-0000-7000-8000-00000000000a/audit-log")
operations = [name for name in sys.modules if name.endswith(".operations") and "features" in name]
print(json.dumps({"status": answer.status_code, "operations": operations}))
"""
    assert run_in_fresh_process(program) == {"status": 401, "operations": ["chalicelib.features.audit.log.operations"]}


def test_every_feature_is_reached_by_a_route():
    modules = {target.partition(":")[0] for *_, target in ROUTES}
    reached = {name.removeprefix("chalicelib.features.").removesuffix(".operations") for name in modules}
    with_operations = {name for name in FEATURES if find_spec(f"chalicelib.features.{name}.operations")}
    assert reached & {*FEATURES} == with_operations


def test_all_other_dataclasses_are_immutable():
    names = [info.name for info in walk_packages(chalicelib.__path__, "chalicelib.") if "__main__" not in info.name]
    members = [(name, member) for name in names for member in vars(import_module(name)).values()]
    classes = [each for name, each in members if isinstance(each, type) and each.__module__ == name]
    params = {each.__name__: vars(each).get("__dataclass_params__") for each in classes}
    assert {name for name, each in params.items() if each and not each.frozen} == MUTABLE_DATACLASSES

"""Cold start: `app` imports only what most requests need, and a request imports its own feature."""

from importlib.util import find_spec
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import FEATURES
from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.storage.entity import KINDS
from tests.catalogue.examples.registry import call_operation
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.fresh_process import run_in_fresh_process
from tests.harness.parametrize_operations import parametrize_operations

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
"""Modules that few requests need, which are modules_after_import where they are used."""


@pytest.fixture(scope="module")
def modules_after_import() -> dict[str, Any]:
    """The modules and AWS clients of a new process after importing `app`."""
    program = """
import json, sys
import app
from chalicelib.kernel.core import aws
print(json.dumps({"modules": sorted(sys.modules), "clients": aws._client.cache_info().currsize}))
"""
    result: dict[str, Any] = run_in_fresh_process(program)
    return result


def modules_of_package(package: str, modules: list[str]) -> list[str]:
    return [module for module in modules if module == package or module.startswith(f"{package}.")]


@pytest.mark.parametrize("package", LAZY_MODULES)
def test_importing_app_does_not_import(package, modules_after_import):
    assert modules_of_package(package, modules_after_import["modules"]) == []


def test_importing_app_imports_no_feature(modules_after_import):
    declared = {"chalicelib.features", "chalicelib.features.declarations"}
    assert {*modules_of_package("chalicelib.features", modules_after_import["modules"])} == declared


def test_importing_app_creates_no_client(modules_after_import):
    assert modules_after_import["clients"] == 0


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


@parametrize_operations()
def test_the_first_request_of_a_process_finds_records_of_every_kind(operation, tenant, monkeypatch):
    for name in list(KINDS):
        monkeypatch.delitem(KINDS, name)
    assert call_operation(operation, tenant).status == operation.success


def test_every_feature_is_reached_by_a_route():
    modules = {target.partition(":")[0] for *_, target in ROUTES}
    reached = {name.removeprefix("chalicelib.features.").removesuffix(".operations") for name in modules}
    with_operations = {name for name in FEATURES if find_spec(f"chalicelib.features.{name}.operations")}
    assert reached & {*FEATURES} == with_operations

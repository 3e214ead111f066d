"""Cold start: `app` imports only what most requests need, and a request imports its own feature."""

from importlib.util import find_spec
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import FEATURES
from chalicelib.entrypoints.routes import ROUTES
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.fresh_process import run_in_fresh_process

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

"""Schemathesis finds no failure of the service by any of its checks.

`make fuzz` runs it longer and with random seeds (`python -m tests.security.fuzz`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.entrypoints.openapi import schemas
from chalicelib.kernel.execution import conditions
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example
from tests.harness.conformance import openapi_document
from tests.security.schemathesis_runs import (
    ALLOWED_ACCEPTANCES,
    ALLOWED_REJECTIONS,
    AllowedAcceptance,
    AllowedRejection,
    is_allowed,
    run_schemathesis,
)

QUICK_SETTINGS: Final[Mapping[str, Any]] = {
    "seed": 1,
    "generation": {"max-examples": 4, "deterministic": True, "database": "none", "no-shrink": True},
    "phases": {"enabled": False, "fuzzing": {"enabled": True}},
}
JSON_HEADERS: Final = {"Content-Type": "application/json"}
GROUPS: Final = sorted({operation.group for operation in all_operations()})


@pytest.mark.parametrize("examples", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("group", GROUPS)
def test_schemathesis_finds_no_failures(group, examples, tenant):
    operations = [operation for operation in all_operations() if operation.group == group]
    settings = {**QUICK_SETTINGS, "generation": {**QUICK_SETTINGS["generation"], "max-examples": examples}}
    failures = run_schemathesis(tenant, operations, settings)
    assert [each for each in failures if not is_allowed(each)] == []


def test_schemathesis_detects_a_broken_operation(tenant, monkeypatch):
    def raise_error(*_: object) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(conditions, "if_none_match", raise_error)
    country = [operation for operation in all_operations() if operation.id == "get_country"]
    assert {each.check for each in run_schemathesis(tenant, country, QUICK_SETTINGS)} >= {
        "not_a_server_error",
        "content_type_conformance",
    }


@pytest.mark.parametrize("rejection", ALLOWED_REJECTIONS, ids=lambda rejection: rejection.reason)
def test_allowed_rejections_match_the_schema_and_are_rejected(rejection, tenant):
    operation = get_operation(rejection)
    example = get_example(operation, tenant)
    response = tenant.api.request(
        operation.method,
        example.get_path(operation),
        caller=get_caller(operation, tenant),
        json=rejection.body,
        query=rejection.query,
        headers=example.headers,
    )
    assert response.status_and_code == "422 validation_failed"
    assert all(rejection.matches(error) for error in response.json["errors"]), response.text
    assert schema_errors(operation, rejection) == []


@pytest.mark.parametrize("acceptance", ALLOWED_ACCEPTANCES, ids=lambda acceptance: acceptance.reason)
def test_allowed_acceptances_violate_the_schema_and_are_accepted(acceptance, tenant):
    operation = get_operation(acceptance)
    if isinstance(acceptance.body, bytes):
        response = call_operation(operation, tenant, json=None, body=acceptance.body, headers=JSON_HEADERS)
    else:
        response = call_operation(operation, tenant, replace(get_example(operation, tenant), body=acceptance.body))
        assert schema_errors(operation, acceptance) != []
    assert response.status == operation.success


def get_operation(rejection: AllowedRejection | AllowedAcceptance) -> Operation:
    return next(operation for operation in all_operations() if operation.id == rejection.operation_id)


def schema_errors(operation: Operation, rejection: AllowedRejection | AllowedAcceptance) -> list[str]:
    """Return the schema violations of an example request."""
    components = {"components": openapi_document()["components"]}
    if isinstance(rejection, AllowedAcceptance) or rejection.body is not None:
        assert operation.body_model
        values = [(schemas.schema_reference(operation.body_model.__name__), rejection.body)]
    else:
        parameters = openapi_document()["paths"][operation.path][operation.method.lower()]["parameters"]
        values = [
            (each["schema"], rejection.query[each["name"]])
            for each in parameters
            if each.get("name") in rejection.query
        ]
    return [
        error.message
        for schema, value in values
        for error in Draft202012Validator({**components, **schema}).iter_errors(value)
    ]

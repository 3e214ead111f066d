"""What Schemathesis finds wrong with the service, by all of its checks: nothing.

`make fuzz` looks longer, and at random (`python -m tests.security.fuzz`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints.catalogue import operations
from chalicelib.entrypoints.openapi import schemas
from chalicelib.kernel.execution import conditions
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness.conformance import document
from tests.security.allowed_findings import EXCUSED, TOLERATED, Excuse, Tolerance, is_excused
from tests.security.schemathesis_runs import fuzz

QUICK: Final[Mapping[str, Any]] = {
    "seed": 1,
    "generation": {"max-examples": 4, "deterministic": True, "database": "none", "no-shrink": True},
    "phases": {"enabled": False, "fuzzing": {"enabled": True}},
}
GROUPS: Final = sorted({operation.group for operation in operations()})


@pytest.mark.parametrize("group", GROUPS)
def test_schemathesis_finds_no_failures(group: str, world: World) -> None:
    found = fuzz(world, [operation for operation in operations() if operation.group == group], QUICK)
    assert [each for each in found if not is_excused(each)] == []


def test_schemathesis_detects_a_broken_operation(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(conditions, "if_none_match", broken)
    country = [operation for operation in operations() if operation.id == "get_country"]
    assert {each.check for each in fuzz(world, country, QUICK)} >= {"not_a_server_error", "content_type_conformance"}


@pytest.mark.parametrize("excuse", EXCUSED, ids=lambda excuse: excuse.why)
def test_allowed_rejections_match_the_schema_and_are_rejected(excuse: Excuse, world: World) -> None:
    operation = operation_of(excuse)
    example = example_of(operation, world)
    refused = world.api.request(
        operation.method,
        example.path(operation),
        as_=caller_of(operation, world),
        json=excuse.body,
        query=excuse.query,
        headers=example.headers,
    )
    assert refused.code == "422 validation_failed"
    assert all(excuse.covers(fault) for fault in refused.json["errors"]), refused.text
    assert faults_by_the_document(operation, excuse) == []


@pytest.mark.parametrize("tolerance", TOLERATED, ids=lambda tolerance: tolerance.why)
def test_allowed_acceptances_violate_the_schema_and_are_accepted(tolerance: Tolerance, world: World) -> None:
    operation = operation_of(tolerance)
    taken = perform(operation, world, replace(example_of(operation, world), body=tolerance.body))
    assert taken.status == operation.success
    assert faults_by_the_document(operation, tolerance) != []


def operation_of(excuse: Excuse | Tolerance) -> Operation:
    return next(operation for operation in operations() if operation.id == excuse.operation)


def faults_by_the_document(operation: Operation, excuse: Excuse | Tolerance) -> list[str]:
    """Return what the document finds wrong with the request that an excuse is shown by."""
    components = {"components": document()["components"]}
    if isinstance(excuse, Tolerance) or excuse.body is not None:
        assert operation.body
        given = [(schemas.reference(operation.body.__name__), excuse.body)]
    else:
        said = document()["paths"][operation.path][operation.method.lower()]["parameters"]
        given = [(each["schema"], excuse.query[each["name"]]) for each in said if each.get("name") in excuse.query]
    return [
        fault.message
        for schema, value in given
        for fault in Draft202012Validator({**components, **schema}).iter_errors(value)
    ]

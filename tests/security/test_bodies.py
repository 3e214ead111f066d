"""A body is one JSON object, whatever is said of it, and all who read it read the same."""

import json
from typing import Final

import pytest

from chalicelib.kernel.http.forms import URL_ENCODED
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import JSON
from tests.harness.by_operation import by_operation
from tests.harness.external_servers import unreached

BOUNDARY: Final = "multipart/form-data; boundary=x"
KINDS: Final = (
    BOUNDARY,
    "application/x-www-form-urlencoded",
    "text/plain",
    "text/json",
    "application/xml",
    "application/yaml",
    "application/json, text/plain",
    "application/jsonp",
    "application/problem+json",
    "application/x-amz-json-1.0",
    "json",
    "application/json/",
    "multipart/related; type=application/json",
    "application/octet-stream",
    "application/json\x00",
)
FORM_KINDS: Final = (BOUNDARY, URL_ENCODED)
with_a_body = by_operation(lambda o: o.body and o.method != "DELETE")


def place_names(operation: Operation) -> bool:
    return isinstance(operation.access, RequireRole) and operation.access.in_body


@with_a_body
def test_body_of_another_media_type_is_not_read(operation: Operation, world: World) -> None:
    example, caller = example_of(operation, world), caller_of(operation, world)
    body = json.dumps(example.body or {}).encode()
    before = snapshots.stored()
    with unreached():
        for kind in KINDS:
            if operation.accepts_form and kind in FORM_KINDS:
                continue  # Read as what it says it is, of which JSON is none: 422.
            refused = perform(operation, world, as_=caller, json=None, body=body, headers={"Content-Type": kind})
            assert refused.code in ("415 unsupported_media_type", "404 not_found", "422 validation_failed"), kind
    assert snapshots.stored() == before


@with_a_body
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "utf-8-sig"])
def test_body_in_another_encoding_is_rejected(operation: Operation, encoding: str, world: World) -> None:
    example, caller = example_of(operation, world), caller_of(operation, world)
    body = json.dumps({**(example.body or {}), "x": "+\u00e9"}, ensure_ascii=False).encode(encoding)
    before = snapshots.stored()
    kind = {"Content-Type": f"{JSON}; charset={encoding}"}
    refused = perform(operation, world, as_=caller, json=None, body=body, headers=kind)
    assert refused.status in (400, 404, 422)
    assert snapshots.stored() == before


@by_operation(place_names)
class TestContainerInBody:
    def test_duplicate_field_is_read_consistently(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        example, name, before = example_of(operation, world), operation.access.field, snapshots.taken()
        mine, theirs = example.body[name], world.rivals_own(operation.access.parameter)
        rest = json.dumps({key: value for key, value in example.body.items() if key != name})[1:]
        for first, last in ((theirs, mine), (mine, theirs)):
            for written in (name, name.replace("I", "\\u0049")):
                snapshots.put_back(before)
                body = f'{{"{name}": "{first}", "{written}": "{last}", {rest}'.encode()
                answer = perform(operation, world, json=None, body=body, headers={"Content-Type": JSON})
                assert (answer.status, answer.json.get(name)) == ((201, mine) if last == mine else (404, None))

    def test_alternative_spellings_of_an_id_are_rejected(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        example, name = example_of(operation, world), operation.access.field
        theirs = world.rivals_own(operation.access.parameter)
        for other in (theirs.upper(), f" {theirs} ", [theirs], {"id": theirs}, f"{theirs}\x00", f"{theirs}#", None, 7):
            answer = perform(operation, world, json={**example.body, name: other})
            assert answer.status in (404, 422)

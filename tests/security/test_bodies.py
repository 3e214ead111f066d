"""A body is one JSON object, whatever its headers say, and is read consistently."""

import json
from typing import Final

import pytest

from chalicelib.kernel.http.forms import URL_ENCODED
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example
from tests.harness import snapshots
from tests.harness.api import JSON_MEDIA_TYPE
from tests.harness.external_servers import forbid_deliveries
from tests.harness.parametrize_operations import parametrize_operations

BOUNDARY: Final = "multipart/form-data; boundary=x"
MEDIA_TYPES: Final = (
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
FORM_MEDIA_TYPES: Final = (BOUNDARY, URL_ENCODED)
for_each_body = parametrize_operations(lambda o: o.body_model and o.method != "DELETE")


def has_container_in_body(operation: Operation) -> bool:
    return isinstance(operation.access, RequireRole) and operation.access.in_body


@for_each_body
def test_body_of_another_media_type_is_not_read(operation, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    body = json.dumps(example.body or {}).encode()
    before = snapshots.items_by_key()
    with forbid_deliveries():
        for media_type in MEDIA_TYPES:
            if operation.accepts_form and media_type in FORM_MEDIA_TYPES:
                continue  # The JSON is read as a form, which is invalid: 422.
            response = call_operation(
                operation, tenant, caller=caller, json=None, body=body, headers={"Content-Type": media_type}
            )
            assert response.status_and_code in (
                "415 unsupported_media_type",
                "404 not_found",
                "422 validation_failed",
            ), media_type
    assert snapshots.items_by_key() == before


@for_each_body
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "utf-8-sig"])
def test_body_in_another_encoding_is_rejected(operation, encoding, tenant):
    example, caller = get_example(operation, tenant), get_caller(operation, tenant)
    body = json.dumps({**(example.body or {}), "x": "+\u00e9"}, ensure_ascii=False).encode(encoding)
    before = snapshots.items_by_key()
    media_type = {"Content-Type": f"{JSON_MEDIA_TYPE}; charset={encoding}"}
    response = call_operation(operation, tenant, caller=caller, json=None, body=body, headers=media_type)
    assert response.status in (400, 404, 422)
    assert snapshots.items_by_key() == before


@parametrize_operations(has_container_in_body)
class TestContainerInBody:
    def test_duplicate_field_is_read_consistently(self, operation, tenant):
        assert isinstance(operation.access, RequireRole)
        example, name, before = (
            get_example(operation, tenant),
            operation.access.container_id_body_field,
            snapshots.take_snapshot(),
        )
        own_id, foreign_id = (
            example.body[name],
            tenant.get_rivals_parameter(operation.access.container_or_record_parameter),
        )
        other_fields = json.dumps({key: value for key, value in example.body.items() if key != name})[1:]
        for first, last in ((foreign_id, own_id), (own_id, foreign_id)):
            for spelling in (name, name.replace("I", "\\u0049")):
                snapshots.restore_snapshot(before)
                body = f'{{"{name}": "{first}", "{spelling}": "{last}", {other_fields}'.encode()
                response = call_operation(
                    operation, tenant, json=None, body=body, headers={"Content-Type": JSON_MEDIA_TYPE}
                )
                assert (response.status, response.json.get(name)) == ((201, own_id) if last == own_id else (404, None))

    def test_alternative_spellings_of_an_id_are_rejected(self, operation, tenant):
        assert isinstance(operation.access, RequireRole)
        example, name = get_example(operation, tenant), operation.access.container_id_body_field
        foreign_id = tenant.get_rivals_parameter(operation.access.container_or_record_parameter)
        for spelling in (
            foreign_id.upper(),
            f" {foreign_id} ",
            [foreign_id],
            {"id": foreign_id},
            f"{foreign_id}\x00",
            f"{foreign_id}#",
            None,
            7,
        ):
            response = call_operation(operation, tenant, json={**example.body, name: spelling})
            assert response.status in (404, 422)

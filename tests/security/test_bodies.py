"""A body is one JSON object, whatever its headers say, and is read consistently."""

import json
from typing import Final

from chalicelib.kernel.http.forms import URL_ENCODED
from chalicelib.kernel.operations.access_rules import ContainerReference, RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import JSON_MEDIA_TYPE, ApiResponse
from tests.harness.external_servers import forbid_deliveries
from tests.harness.parametrize_operations import (
    body_rule_of,
    parametrize_operations,
    parametrize_representatives,
    takes_a_body,
)

BOUNDARY: Final = "multipart/form-data; boundary=x"
MEDIA_TYPES: Final = (
    *(BOUNDARY, URL_ENCODED, "text/plain", "text/json", "application/xml", "application/yaml", "json"),
    *("application/json, text/plain", "application/jsonp", "application/problem+json", "application/x-amz-json-1.0"),
    *("application/json/", "multipart/related; type=application/json", "application/octet-stream"),
    "application/json\x00",
)
ENCODINGS: Final = ("utf-16", "utf-32", "utf-7", "utf-8-sig")


def has_container_in_body(operation: Operation) -> bool:
    return isinstance(operation.access, RequireRole) and operation.access.location is ContainerReference.BODY_ID


@parametrize_representatives(body_rule_of, takes_a_body)
def test_body_of_another_media_type_or_encoding_is_rejected(operation, tenant, unchanged):
    body = get_example(operation, tenant).body or {}
    with forbid_deliveries():
        for media_type in MEDIA_TYPES:
            # JSON that is read as a form is invalid.
            is_form = operation.accepts_form and media_type in (BOUNDARY, URL_ENCODED)
            response = send(operation, tenant, json.dumps(body).encode(), media_type)
            assert response.status == (422 if is_form else 415), media_type
        for encoding in ENCODINGS:
            encoded = json.dumps({**body, "x": "+\u00e9"}, ensure_ascii=False).encode(encoding)
            response = send(operation, tenant, encoded, f"{JSON_MEDIA_TYPE}; charset={encoding}")
            assert response.status in (400, 422), encoding


def send(operation: Operation, tenant: TenantFixture, body: bytes, media_type: str) -> ApiResponse:
    return call_operation(operation, tenant, json=None, body=body, headers={"Content-Type": media_type})


@parametrize_operations(has_container_in_body)
class TestContainerInBody:
    def test_duplicate_field_is_read_consistently(self, operation, tenant, restore_tenant):
        rule, body = operation.access, get_example(operation, tenant).body
        name = rule.container_id_body_field
        own_id, foreign_id = body[name], tenant.get_rivals_parameter(rule.container_or_record_parameter)
        other_fields = json.dumps({key: value for key, value in body.items() if key != name})[1:]
        for first, last in ((foreign_id, own_id), (own_id, foreign_id)):
            for spelling in (name, name.replace("I", "\\u0049")):
                restore_tenant()
                text = f'{{"{name}": "{first}", "{spelling}": "{last}", {other_fields}'
                response = send(operation, tenant, text.encode(), JSON_MEDIA_TYPE)
                assert (response.status, response.json.get(name)) == ((201, own_id) if last == own_id else (404, None))

    def test_alternative_spellings_of_an_id_are_rejected(self, operation, tenant):
        rule, body = operation.access, get_example(operation, tenant).body
        foreign_id = tenant.get_rivals_parameter(rule.container_or_record_parameter)
        texts = (foreign_id.upper(), f" {foreign_id} ", f"{foreign_id}\x00", f"{foreign_id}#")
        for spelling in (*texts, [foreign_id], {"id": foreign_id}, None, 7):
            response = call_operation(operation, tenant, json={**body, rule.container_id_body_field: spelling})
            assert response.status in (404, 422)

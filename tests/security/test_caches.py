"""Shared caches may only store responses that are equal for all callers, or vary by a listed header.

`tests/catalogue/test_responses.py` checks that they store neither secrets nor responses that require access.
"""

from typing import Final

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.outcomes import is_public
from tests.catalogue.test_responses import is_publicly_cacheable
from tests.harness.api import ApiResponse
from tests.harness.conformance import openapi_document
from tests.harness.parametrize_operations import parametrize_operations, parametrize_request_rules

HTML: Final = {"Accept": "text/html"}
STRICT: Final = ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")


def documented_media_types(operation: Operation) -> set[str]:
    documented = openapi_document()["paths"][operation.path][operation.method.lower()]["responses"][
        str(operation.success)
    ]
    return {*documented.get("content", {}), *documented.get("x-atrium-other-media-types", ())}


def vary_headers(response: ApiResponse) -> set[str]:
    return {name.strip().lower() for name in response.headers.get("Vary", "").split(",")}


@parametrize_operations(lambda o: o.method == "GET" and is_public(o))
def test_publicly_cacheable_responses_are_equal_for_all_callers(operation, tenant):
    callers = (None, tenant.people.owner, tenant.people.outsider)
    responses = [call_operation(operation, tenant, caller=caller) for caller in callers]
    for response in filter(is_publicly_cacheable, responses):
        assert response.status in (200, 301, 304)
        bodies = {other.text for other in responses if other.status == response.status}
        assert "authorization" in vary_headers(response) or bodies == {response.text}


@parametrize_request_rules(lambda o: isinstance(o.access, RequireRole) and o.method == "GET")
def test_rejections_are_not_cacheable(operation, tenant):
    response = call_operation(operation, tenant, caller="nonsense")
    assert response.headers["Cache-Control"] == "no-store"


@parametrize_operations(lambda o: "text/html" in documented_media_types(o))
def test_html_varies_by_accept_header_and_has_a_strict_policy(operation, tenant):
    response, json_response = call_operation(operation, tenant, headers=HTML), call_operation(operation, tenant)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    form_action = "form-action 'self'" if "<form" in response.text else "form-action 'none'"
    policy = [directive.strip() for directive in response.headers["Content-Security-Policy"].split(";")]
    assert {*STRICT, form_action} <= {*policy}
    assert [directive for directive in policy if directive.startswith("form-action")] == [form_action]
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.text == json_response.text or "accept" in vary_headers(response) & vary_headers(json_response)

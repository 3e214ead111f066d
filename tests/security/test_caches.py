"""Shared caches may only store responses that are equal for all callers, or vary by a listed header."""

import re
from typing import Final

from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import perform
from tests.catalogue.secrets import one_time
from tests.catalogue.tenant_fixture import World
from tests.catalogue.test_permissions import is_shown
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.conformance import document

HTML: Final = {"Accept": "text/html"}
STRICT: Final = ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")


def is_publicly_cacheable(response: Answer) -> bool:
    """Return whether a shared cache may store a response."""
    cache_control = response.headers.get("Cache-Control", "")
    return (
        "public" in cache_control
        or "s-maxage" in cache_control
        or (not re.search("private|no-store|no-cache", cache_control) and "max-age" in cache_control)
    )


def documented_media_types(operation: Operation) -> set[str]:
    """Return the documented media types of an operation's success."""
    documented = document()["paths"][operation.path][operation.method.lower()]["responses"][str(operation.success)]
    return set(documented.get("content", {}))


def vary_headers(response: Answer) -> set[str]:
    return {name.strip().lower() for name in response.headers.get("Vary", "").split(",")}


@by_operation(lambda o: o.method == "GET")
def test_publicly_cacheable_responses_are_equal_for_all_callers(operation: Operation, world: World) -> None:
    anonymous, owner, outsider = (
        perform(operation, world, as_=caller) for caller in (None, world.people.owner, world.people.outsider)
    )
    for response in (anonymous, owner, outsider):
        if is_publicly_cacheable(response):
            assert response.status in (200, 301, 304)
            other_bodies = [
                other_response.text
                for other_response in (anonymous, owner, outsider)
                if other_response.status == response.status
            ]
            assert "authorization" in vary_headers(response) or set(other_bodies) == {response.text}


@by_operation(lambda o: o.method == "GET" and not is_shown(o))
def test_authenticated_responses_are_not_publicly_cacheable(operation: Operation, world: World) -> None:
    assert not is_publicly_cacheable(perform(operation, world))


@by_operation(lambda o: o.method == "POST" and one_time(o))
def test_responses_with_secrets_are_not_cacheable(operation: Operation, world: World) -> None:
    assert perform(operation, world).headers["Cache-Control"] == "no-store"


@by_operation(lambda o: isinstance(o.access, RequireRole) and o.method == "GET")
def test_rejections_are_not_cacheable(operation: Operation, world: World) -> None:
    response = perform(operation, world, as_="nonsense")
    assert response.headers["Cache-Control"] == "no-store"


@by_operation(lambda o: "text/html" in documented_media_types(o))
def test_html_varies_by_accept_header_and_has_a_strict_policy(operation: Operation, world: World) -> None:
    response, json_response = perform(operation, world, headers=HTML), perform(operation, world)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    form_action = "form-action 'self'" if "<form" in response.text else "form-action 'none'"
    policy = [directive.strip() for directive in response.headers["Content-Security-Policy"].split(";")]
    assert {*STRICT, form_action} <= {*policy}
    assert [directive for directive in policy if directive.startswith("form-action")] == [form_action]
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.text == json_response.text or "accept" in vary_headers(response) & vary_headers(json_response)

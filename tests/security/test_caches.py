"""What a cache between a caller and the service keeps is for everybody, or it is told by which header it differs."""

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


def is_kept_by_all(answer: Answer) -> bool:
    """Whether a cache that many share may keep an answer."""
    kept = answer.headers.get("Cache-Control", "")
    return (
        "public" in kept
        or "s-maxage" in kept
        or (not re.search("private|no-store|no-cache", kept) and "max-age" in kept)
    )


def answers_of(operation: Operation) -> set[str]:
    """The media types that the document says of an operation's success."""
    described = document()["paths"][operation.path][operation.method.lower()]["responses"][str(operation.success)]
    return set(described.get("content", {}))


def varies(answer: Answer) -> set[str]:
    return {name.strip().lower() for name in answer.headers.get("Vary", "").split(",")}


@by_operation(lambda o: o.method == "GET")
def test_publicly_cacheable_responses_are_equal_for_all_callers(operation: Operation, world: World) -> None:
    nobodys, owners, strangers = (
        perform(operation, world, as_=caller) for caller in (None, world.people.owner, world.people.outsider)
    )
    for one in (nobodys, owners, strangers):
        if is_kept_by_all(one):
            assert one.status in (200, 301, 304)
            others = [other.text for other in (nobodys, owners, strangers) if other.status == one.status]
            assert "authorization" in varies(one) or set(others) == {one.text}


@by_operation(lambda o: o.method == "GET" and not is_shown(o))
def test_authenticated_responses_are_not_publicly_cacheable(operation: Operation, world: World) -> None:
    assert not is_kept_by_all(perform(operation, world))


@by_operation(lambda o: o.method == "POST" and one_time(o))
def test_responses_with_secrets_are_not_cacheable(operation: Operation, world: World) -> None:
    assert perform(operation, world).headers["Cache-Control"] == "no-store"


@by_operation(lambda o: isinstance(o.access, RequireRole) and o.method == "GET")
def test_rejections_are_not_cacheable(operation: Operation, world: World) -> None:
    refused = perform(operation, world, as_="nonsense")
    assert refused.headers["Cache-Control"] == "no-store"


@by_operation(lambda o: "text/html" in answers_of(o))
def test_html_varies_by_accept_header_and_has_a_strict_policy(operation: Operation, world: World) -> None:
    answer, plain = perform(operation, world, headers=HTML), perform(operation, world)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    may_send_to = "form-action 'self'" if "<form" in answer.text else "form-action 'none'"
    policy = [each.strip() for each in answer.headers["Content-Security-Policy"].split(";")]
    assert {*STRICT, may_send_to} <= {*policy}
    assert [each for each in policy if each.startswith("form-action")] == [may_send_to]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.text == plain.text or "accept" in varies(answer) & varies(plain)

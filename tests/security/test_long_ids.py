"""Values of any length and of odd characters, wherever one may become part of a key: no answer is an error of ours.

The harness refuses the keys that DynamoDB refuses (`tests/harness/key_size_limits.py`), and any answer of 500.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.sites.models.url_paths import path_prefixes
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness.by_operation import by_operation

LENGTHS: Final = (1, 300, 1_100, 2_100, 9_000)
ODD: Final = (
    "\x00",
    "a\x00b",
    "a/b",
    "../..",
    "%2f",
    "%",
    "#",
    "a#b",
    "?",
    " ",
    "\n",
    "ß",
    "\u212a",
    "\u0131",
    "\u202eabc",
    "\U0001f4a9" * 300,
    "\u0627\u0644",
    "\ufdfa" * 200,
    "\u0390" * 255,
    "e\u0301" * 500,
    "*",
    "{id}",
    "\ufeff",
    "\x7f",
)
LONG: Final = tuple("a" * length for length in LENGTHS)
VALUES: Final = (*LONG, *ODD)
IN_BODIES: Final = (*LONG, "a\x00b", "#", "\u212a", "\U0001f4a9" * 300, "\ufdfa" * 200, "\u202eabc")
JSON: Final = {"Content-Type": "application/json"}
HALF_A_PAIR: Final = b'"\\ud800"'


@by_operation(lambda o: o.path_parameters)
class TestPathParameters:
    def test_unknown_values_are_not_found(self, operation: Operation, world: World) -> None:
        example, caller = example_of(operation, world), caller_of(operation, world)
        for name in operation.path_parameters:
            for value in VALUES:
                answer = perform(operation, world, example.but(**{name: value}), as_=caller)
                assert answer.status == 404 or (len(value) == 1 and answer.status < 500), (name, value[:20])

    def test_each_parameter_has_a_maximum_length(self, operation: Operation) -> None:
        for name in operation.path_parameters:
            assert not operation.is_addressable({**dict.fromkeys(operation.path_parameters, "a"), name: "a" * 300})
            assert not operation.is_addressable({**dict.fromkeys(operation.path_parameters, "a"), name: ""})

    def test_overlong_value_is_rejected_without_reads(self, operation: Operation, world: World) -> None:
        example = example_of(operation, world)
        (first, *_) = operation.path_parameters
        answer = perform(operation, world, example.but(**{first: "a" * 9_000}), as_=caller_of(operation, world))
        assert answer.calls.made == []


@by_operation(lambda o: o.query)
def test_query_values_cause_no_server_error(operation: Operation, world: World) -> None:
    assert operation.query
    names = [field.alias or name for name, field in operation.query.model_fields.items()]
    for name in names:
        for value in VALUES:
            for as_ in (caller_of(operation, world), None):
                assert perform(operation, world, as_=as_, query={name: value}).status < 500


def placed(body: Any, value: Any) -> Iterator[Any]:
    """Yield a body with a value in place of each text in it, one after the other."""
    if isinstance(body, dict):
        for name, member in body.items():
            yield from ({**body, name: each} for each in placed(member, value))
    elif isinstance(body, list):
        for at, member in enumerate(body):
            yield from ([*body[:at], each, *body[at + 1 :]] for each in placed(member, value))
    elif isinstance(body, str) or body is None:
        yield value


def fields_of(operation: Operation, body: Any) -> dict[str, Any]:
    """Return a body with each field that the operation takes, so that each can hold text."""
    assert operation.body
    names = [field.alias or name for name, field in operation.body.model_fields.items()]
    return {**dict.fromkeys(names), **(body or {})}


@by_operation(lambda o: o.body)
def test_body_values_cause_no_server_error(operation: Operation, world: World) -> None:
    example, caller = example_of(operation, world), caller_of(operation, world)
    full = fields_of(operation, example.body)
    for value in IN_BODIES:
        for body in placed(full, value):
            sent = {name: each for name, each in body.items() if each is not None}
            assert perform(operation, world, as_=caller, json=sent).status < 500
    raw = [json.dumps(body).encode().replace(b'"HALF"', HALF_A_PAIR) for body in placed(full, "HALF")]
    for body in raw:
        answer = perform(operation, world, as_=caller, json=None, body=body, headers=JSON)
        assert answer.code in ("400 malformed_json", "429 rate_limited")


class TestPathWithManySegments:
    """The path of a page in a query: each segment more would be another place to look for a redirect."""

    def test_makes_no_more_calls_than_a_short_path(self, world: World) -> None:
        pages = f"{world.site.path}/pages/by-path"
        short = world.api.get(pages, query={"path": "/nothing"})
        for path in ("/x" * 900, "/x" * 4_500, "/" * 9_000, "/%2e%2e" * 900):
            long = world.api.get(pages, query={"path": path})
            assert len(long.calls.made) <= len(short.calls.made)
            host = {"host": world.site.record["host"], "path": path}
            assert len(world.api.get("/sites/resolve", query=host).calls.made) <= 4

    def test_number_of_prefixes_is_limited(self) -> None:
        assert path_prefixes("/x" * 4_500, 10) == [("/x" * number) or "/" for number in range(10, -1, -1)]
        assert path_prefixes("/a/b", 10) == ["/a", "/"]
        assert path_prefixes("/", 10) == []

"""What a client says in headers that mean nothing here changes nothing, and gets into no answer and no line."""

import logging
import re
from typing import Final

import pytest

from chalicelib.kernel.core.logs import logger
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation

EVIL: Final = "evil.example"
MISLEADING: Final = {
    "X-HTTP-Method-Override": "DELETE",
    "X-HTTP-Method": "DELETE",
    "X-Method-Override": "DELETE",
    "X-Original-URL": "/system/audit-log",
    "X-Rewrite-URL": "/system/audit-log",
    "X-Original-Method": "DELETE",
    "Host": EVIL,
    "X-Forwarded-Host": EVIL,
    "X-Host": EVIL,
    "X-Forwarded-Server": EVIL,
    "X-Forwarded-Prefix": f"//{EVIL}",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Scheme": "http",
    "X-Forwarded-Port": "1337",
    "X-Original-Host": EVIL,
    "Forwarded": f"host={EVIL};proto=http;for=127.0.0.1",
    "X-Forwarded-For": "127.0.0.1",
    "X-Real-IP": "127.0.0.1",
    "True-Client-IP": "127.0.0.1",
    "CF-Connecting-IP": "127.0.0.1",
    "Client-IP": "127.0.0.1",
    "Referer": f"https://{EVIL}/",
    "X-Request-Id": EVIL,
    "X-Amzn-RequestId": EVIL,
    "X-Correlation-Id": EVIL,
    "traceparent": EVIL,
    "Via": EVIL,
    "Content-Location": f"https://{EVIL}/",
    "Destination": f"https://{EVIL}/",
    "Accept-Language": EVIL,
    "Accept-Encoding": "gzip, br, identity;q=0",
    "Range": "bytes=0-3",
    "If-Range": '"x"',
    "Expect": "100-continue",
    "Upgrade": "websocket",
    "Connection": "upgrade, Authorization",
    "TE": "trailers",
    "Cookie": "session=admin; role=owner",
    "X-Organization-Id": EVIL,
    "X-Tenant": EVIL,
    "X-Role": "owner",
    "X-Debug": "1",
    "X-Admin": "true",
    "From": EVIL,
}
"""Headers by which somebody or other changes the method, the address, the host, the client or the caller."""
LINES: Final = 'a\r\nSet-Cookie: session=evil\r\n\r\n<script>alert(1)</script>\n{"level": "ERROR"}\x1b[2J\x00\u2028'
"""What ends a header, a line of a log, a screen."""
JSON: Final = ("application/json", "application/problem+json")


def outline(answer: Answer) -> tuple[int, set[str], list[str] | None]:
    """What an answer is like: its status, which headers it has, and which fields."""
    fields = sorted(answer.json) if answer.headers.get("Content-Type", "") in JSON else None
    return answer.status, set(answer.headers), fields


@by_operation()
def test_misleading_headers_are_ignored(operation: Operation, world: World) -> None:
    before = snapshots.taken()
    plain = perform(operation, world)
    snapshots.put_back(before)
    found = perform(operation, world, headers=MISLEADING)
    assert outline(found) == outline(plain)
    assert EVIL not in found.text
    assert EVIL not in str(found.headers)


@by_operation(lambda o: o.method == "GET" and not o.mutates)
def test_method_override_is_ignored(operation: Operation, world: World) -> None:
    perform(operation, world)  # What is kept of an answer is kept then.
    before = snapshots.stored()
    query = {
        "_method": "DELETE",
        "method": "DELETE",
        "X-HTTP-Method-Override": "DELETE",
        "callback": "alert",
        "jsonp": "a",
    }
    assert perform(operation, world, query=query, headers=MISLEADING).status == operation.success
    assert snapshots.stored() == before


def is_one_line(text: str) -> bool:
    return all(character.isprintable() for character in text)


@by_operation()
def test_line_breaks_do_not_split_headers_or_log_records(
    operation: Operation, world: World, capture: list[str]
) -> None:
    example = example_of(operation, world)
    hostile = {name: f"{value}{LINES}" for name, value in example.parameters.items()}
    asked = {"q": LINES, "cursor": LINES, "limit": LINES, "path": LINES, "host": LINES, "utm": LINES}
    headers = dict.fromkeys(("User-Agent", "X-Request-Id", "Origin", "Accept", "If-None-Match", "Referer"), LINES)
    answers = [
        perform(operation, world, example.but(**hostile), headers=headers),
        perform(operation, world, query=asked, headers={**headers, "Idempotency-Key": LINES}),
        perform(operation, world, query={"utm": LINES}, headers={"User-Agent": LINES, "Origin": LINES}),
    ]
    for answer in answers:
        assert "set-cookie" not in answer.headers
        assert all(is_one_line(value) for value in answer.headers.values())
        assert not re.search(r"\x1b|\x00|<script>alert", answer.text)
    assert len(capture) == len(answers)
    assert all(is_one_line(line) for line in capture)


@pytest.fixture
def capture(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of the log, as they are written."""
    lines: list[str] = []
    log = logging.getLogger(logger().name)
    for handler in [each for each in log.handlers if isinstance(each, logging.StreamHandler)]:
        monkeypatch.setattr(handler, "emit", lambda record, own=handler: lines.append(own.format(record)))
    return lines

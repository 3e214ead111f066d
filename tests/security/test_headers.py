"""Headers that the service does not use have no effect, and do not appear in responses or log records."""

import logging
import re
from collections.abc import Hashable
from typing import Final

import pytest

from chalicelib.kernel.core.logs import powertools_logger
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_example
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import (
    parametrize_representatives,
    parametrize_request_rules,
    request_rule_of,
)

EVIL: Final = "evil.example"
MISLEADING: Final = {
    **dict.fromkeys(("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method"), "DELETE"),
    **dict.fromkeys(("X-Original-URL", "X-Rewrite-URL"), "/system/audit-log"),
    **dict.fromkeys(("Host", "X-Forwarded-Host", "X-Host", "X-Forwarded-Server", "X-Original-Host"), EVIL),
    **dict.fromkeys(("X-Forwarded-Proto", "X-Forwarded-Scheme"), "http"),
    **dict.fromkeys(("X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "Client-IP"), "127.0.0.1"),
    "CloudFront-Viewer-Address": "127.0.0.1:443",
    **dict.fromkeys(("Referer", "Content-Location", "Destination"), f"https://{EVIL}/"),
    **dict.fromkeys(("X-Request-Id", "X-Amzn-RequestId", "X-Correlation-Id", "traceparent", "Via", "From"), EVIL),
    **dict.fromkeys(("Accept-Language", "X-Organization-Id", "X-Tenant", "Edge-Secret"), EVIL),
    "Forwarded": f"host={EVIL};proto=http;for=127.0.0.1",
    "X-Forwarded-Prefix": f"//{EVIL}",
    "X-Forwarded-Port": "1337",
    "Accept-Encoding": "gzip, br, identity;q=0",
    "Range": "bytes=0-3",
    "If-Range": '"x"',
    "Expect": "100-continue",
    "Upgrade": "websocket",
    "Connection": "upgrade, Authorization",
    "TE": "trailers",
    "Cookie": "session=admin; role=owner",
    "X-Role": "owner",
    "X-Debug": "1",
    "X-Admin": "true",
}
"""Headers that make some servers change the method, the URL, the host, the client or the caller."""
LINE_BREAKS: Final = (
    'a\r\nSet-Cookie: session=evil\r\n\r\n<script>alert(1)</script>\n{"level": "ERROR"}\x1b[2J\x00\u2028'
)
"""Characters that end a header or a log line, or control a terminal."""
JSON: Final = ("application/json", "application/problem+json")


def summarize(response: ApiResponse) -> tuple[int, set[str], list[str] | None]:
    """Return the status of a response, and the names of its headers and fields."""
    fields = sorted(response.json) if response.headers.get("Content-Type", "") in JSON else None
    return response.status, set(response.headers), fields


def query_rule_of(operation: Operation) -> Hashable:
    """Return what decides how a request is read, with the parameters that an operation takes."""
    return operation.query_model, request_rule_of(operation)


@parametrize_request_rules()
def test_misleading_headers_are_ignored(operation, tenant):
    before = snapshots.take_snapshot()
    expected = call_operation(operation, tenant)
    snapshots.restore_snapshot(before)
    response = call_operation(operation, tenant, headers=MISLEADING)
    assert summarize(response) == summarize(expected)
    assert EVIL not in response.text
    assert EVIL not in str(response.headers)


@parametrize_request_rules(lambda o: o.method == "GET" and not o.emits_events)
def test_method_override_is_ignored(operation, tenant):
    call_operation(operation, tenant)  # Let the service store whatever it caches.
    before = snapshots.items_by_key()
    query = {**dict.fromkeys(("_method", "method", "X-HTTP-Method-Override"), "DELETE"), "callback": "a", "jsonp": "a"}
    assert call_operation(operation, tenant, query=query, headers=MISLEADING).status == operation.success
    assert snapshots.items_by_key() == before


def is_one_line(text: str) -> bool:
    return all(character.isprintable() for character in text)


@parametrize_representatives(query_rule_of)
def test_line_breaks_do_not_split_headers_or_log_records(operation, tenant, log_lines):
    example = get_example(operation, tenant)
    hostile = example.with_parameters(**{name: f"{value}{LINE_BREAKS}" for name, value in example.parameters.items()})
    query = dict.fromkeys(("q", "cursor", "limit", "path", "host", "utm"), LINE_BREAKS)
    headers = dict.fromkeys(("User-Agent", "X-Request-Id", "Origin", "Accept", "If-None-Match", "Referer"), LINE_BREAKS)
    accepted = dict.fromkeys(("User-Agent", "Origin"), LINE_BREAKS)
    responses = [
        call_operation(operation, tenant, hostile, headers=headers),
        call_operation(operation, tenant, query=query, headers={**headers, "Idempotency-Key": LINE_BREAKS}),
        call_operation(operation, tenant, query={"utm": LINE_BREAKS}, headers=accepted),
    ]
    for response in responses:
        assert "set-cookie" not in response.headers
        assert all(is_one_line(value) for value in response.headers.values())
        assert not re.search(r"\x1b|\x00|<script>alert", response.text)
    assert len(log_lines) == len(responses)
    assert all(is_one_line(line) for line in log_lines)


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formatted lines of the log."""
    lines: list[str] = []
    log_logger = logging.getLogger(powertools_logger().name)
    for handler in [each for each in log_logger.handlers if isinstance(each, logging.StreamHandler)]:
        monkeypatch.setattr(
            handler, "emit", lambda record, own_handler=handler: lines.append(own_handler.format(record))
        )
    return lines

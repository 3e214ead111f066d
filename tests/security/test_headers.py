"""Headers that the service does not use have no effect, and do not appear in responses or log records."""

import logging
import re
from typing import Final

import pytest

from chalicelib.kernel.core.logs import powertools_logger
from tests.catalogue.examples.registry import call_operation, get_example
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_operations

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


@parametrize_operations()
def test_misleading_headers_are_ignored(operation, tenant):
    before = snapshots.take_snapshot()
    expected = call_operation(operation, tenant)
    snapshots.restore_snapshot(before)
    response = call_operation(operation, tenant, headers=MISLEADING)
    assert summarize(response) == summarize(expected)
    assert EVIL not in response.text
    assert EVIL not in str(response.headers)


@parametrize_operations(lambda o: o.method == "GET" and not o.emits_events)
def test_method_override_is_ignored(operation, tenant):
    call_operation(operation, tenant)  # Let the service store whatever it caches.
    before = snapshots.items_by_key()
    query = {
        "_method": "DELETE",
        "method": "DELETE",
        "X-HTTP-Method-Override": "DELETE",
        "callback": "alert",
        "jsonp": "a",
    }
    assert call_operation(operation, tenant, query=query, headers=MISLEADING).status == operation.success
    assert snapshots.items_by_key() == before


def is_one_line(text: str) -> bool:
    return all(character.isprintable() for character in text)


@parametrize_operations()
def test_line_breaks_do_not_split_headers_or_log_records(operation, tenant, log_lines):
    example = get_example(operation, tenant)
    hostile_parameters = {name: f"{value}{LINE_BREAKS}" for name, value in example.parameters.items()}
    query = {
        "q": LINE_BREAKS,
        "cursor": LINE_BREAKS,
        "limit": LINE_BREAKS,
        "path": LINE_BREAKS,
        "host": LINE_BREAKS,
        "utm": LINE_BREAKS,
    }
    headers = dict.fromkeys(("User-Agent", "X-Request-Id", "Origin", "Accept", "If-None-Match", "Referer"), LINE_BREAKS)
    responses = [
        call_operation(operation, tenant, example.with_parameters(**hostile_parameters), headers=headers),
        call_operation(operation, tenant, query=query, headers={**headers, "Idempotency-Key": LINE_BREAKS}),
        call_operation(
            operation, tenant, query={"utm": LINE_BREAKS}, headers={"User-Agent": LINE_BREAKS, "Origin": LINE_BREAKS}
        ),
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

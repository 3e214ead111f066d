"""Webhook requests arrive as sent, read a limited part of the response, and describe invalid responses."""

from itertools import repeat
from typing import Final

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import MAX_RESPONSE_BYTES, post_webhook
from tests.harness.receiver import Reply
from tests.harness.waiting import wait_until
from tests.kernel.outbound.webhook_requests import BODY, BROKEN, CLOSED, HEADERS, outcome_of, post

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

GIBIBYTE: Final = 2**30
CHUNKED: Final = {"Transfer-Encoding": "chunked"}


def test_a_request_arrives_as_sent(receiver):
    response = post_webhook(receiver.url_at("127.0.0.1", "/hooks?a=b"), BODY, HEADERS)
    [request] = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks?a=b", BODY)
    assert dict(request.headers) == HEADERS | {
        "Host": f"127.0.0.1:{receiver.port}",
        "User-Agent": f"Atrium/{VERSION}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(BODY)),
    }
    assert (*outcome_of(response), response.body) == (200, None, False, "")


@pytest.mark.parametrize("path", ["", "/", "/a//b", "/%2e%2e/x?", "/x?y=%00&z=[1]&@"])
def test_the_path_is_that_of_the_target(path, receiver):
    assert post_webhook(receiver.url_at("localhost", path), BODY, {}).succeeded
    assert receiver.requests[0].path == (path or "/").rstrip("?")


def test_only_a_2xx_status_is_a_success(receiver):
    for status in (200, 201, 204, 299, 300, 304, 400, 410, 429, 500, 503, 599):
        response = post(receiver, Reply(status, body=b"" if status in (204, 304) else b"no"))
        assert (response.status, response.error, response.succeeded) == (status, None, status < 300)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status, receiver):
    receiver.replies_by_path["/"] = Reply(status, {"Location": receiver.url_at("127.0.0.1", "/elsewhere")})
    response = post(receiver)
    assert (response.status, response.succeeded) == (status, False)
    assert [request.path for request in receiver.requests] == ["/"]


def test_informational_responses_are_skipped(receiver):
    raw = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
    assert (post(receiver, Reply(raw_response=raw)).status, post(receiver).body) == (201, "ok")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"thanks", "thanks"),
        ("größer".encode(), "größer"),
        (b"a\xff\xfeb", "a��b"),
        (b"\x00\x01", "\x00\x01"),
        (b"x" * MAX_RESPONSE_BYTES, "x" * MAX_RESPONSE_BYTES),
        (b"x" * MAX_RESPONSE_BYTES + b"y", "x" * MAX_RESPONSE_BYTES),
        (b"x" * (MAX_RESPONSE_BYTES - 1) + "é".encode(), "x" * (MAX_RESPONSE_BYTES - 1)),
        (b"\xff" * 5000, "�" * (MAX_RESPONSE_BYTES // 3)),
    ],
)
def test_the_first_kibibyte_of_the_body_is_returned_as_text(body, text, receiver):
    assert post(receiver, Reply(body=body)).body == text
    assert len(text.encode()) <= MAX_RESPONSE_BYTES


def test_a_chunked_body_is_assembled_and_a_compressed_one_is_not_decompressed(receiver):
    for _ in range(2):
        chunks = [b"3\r\nabc\r\n", b"4\r\ndefg\r\n", b"0\r\n\r\n"]
        assert post(receiver, Reply(headers=CHUNKED, body=chunks)).body == "abcdefg"
    assert receiver.connection_count == 1
    assert post(receiver, Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bxyz")).body == "\x1f�xyz"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Length": str(GIBIBYTE)}, lambda: repeat(b"x" * 65_536, GIBIBYTE // 65_536)),
        (CHUNKED, lambda: repeat(b"400\r\n" + b"x" * 1024 + b"\r\n")),
    ],
    ids=["large", "endless"],
)
def test_only_the_beginning_of_a_large_or_endless_body_is_read(headers, body, receiver):
    response = post(receiver, Reply(headers=headers, body=body()))
    assert (response.status, response.body) == (200, "x" * MAX_RESPONSE_BYTES)
    assert response.duration_ms < 2_000
    wait_until(lambda: receiver.open_connection_count == 0)
    assert receiver.sent_bytes < GIBIBYTE // 10


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", CLOSED),
        *(
            (raw, BROKEN)
            for raw in (
                *(b"H", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nA: b\r\n", b"\r\n\r\n", b"HTTP/1.1 abc OK\r\n\r\n"),
                *(b"SSH-2.0-OpenSSH_9.9\r\n", b"220 mail.example ESMTP\r\n", b"\x16\x03\x01\x00\x00"),
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
                b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
            )
        ),
    ],
)
def test_an_invalid_response_is_described(raw, error, receiver):
    response = post(receiver, Reply(raw_response=raw, closes_connection=True))
    assert (*outcome_of(response), response.body) == (None, error, False, "")
    assert len(receiver.requests) == 1, "a request that may have been processed is not sent again"


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ({"Content-Length": "100"}, b"half", "half"),
        ({"Content-Length": "2"}, b"ok, and more", "ok"),
        (CHUNKED, [b"2\r\nok\r\n", b"what?\r\n"], "ok"),
    ],
)
def test_the_status_is_returned_when_the_body_is_truncated_or_invalid(headers, body, text, receiver):
    response = post(receiver, Reply(headers=headers, body=body, closes_connection=True))
    assert (*outcome_of(response), response.body) == (200, None, False, text)


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("", None),
        ("Retry-After: 120\r\n", 120),
        ("Retry-After: \r\n", None),
        ("Retry-After: soon\r\n", None),
        (f"Retry-After: {'9' * 10_000}\r\n", None),
        ("Retry-After: ٣\r\n", None),
        ("Retry-After: Fri, 20 Nov 2026 09:31:30 GMT\r\n", 90),
        ("Retry-After: 1\r\nRetry-After: 2\r\n", 1),
    ],
)
def test_the_first_retry_after_header_is_returned_in_seconds(lines, seconds, receiver, clock):
    clock.freeze("2026-11-20T09:30:00Z")
    response = post(receiver, Reply(raw_response=f"HTTP/1.1 503 No\r\n{lines}Content-Length: 0\r\n\r\n".encode()))
    assert (response.status, response.retry_after) == (503, seconds)


HEADER_LINES: Final = [
    *(b"Content-Length: 3", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Connection: close"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Retry-After: 1e9", b"Upgrade: h2c", b": x"),
    *(b"Content-Type: text/html; charset=utf-7", b"Location: http://169.254.169.254/", b"X:\xff\x00", b" folded"),
]
RAW_RESPONSES: Final = st.binary(max_size=200) | st.builds(
    lambda status, lines, body: b"HTTP/1.1 %d OK\r\n%s\r\n\r\n%s" % (status, b"\r\n".join(lines), body),
    st.integers(0, 1000),
    st.lists(st.sampled_from(HEADER_LINES), max_size=4),
    st.binary(max_size=50),
)


def test_no_response_raises_an_exception(receiver, monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 5)

    @hypothesis_settings(max_examples=100, deadline=None)
    @given(RAW_RESPONSES)
    def check_response(raw: bytes) -> None:
        response = post(receiver, Reply(raw_response=raw, closes_connection=True))
        assert (response.status is None) is (response.error is not None)
        assert not response.timed_out
        assert len(response.body.encode()) <= MAX_RESPONSE_BYTES

    check_response()

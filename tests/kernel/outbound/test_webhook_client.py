"""Webhook requests arrive as sent, read a limited part of the response, and describe invalid responses."""

from collections.abc import Iterator
from itertools import repeat
from typing import Final

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import MAX_RESPONSE_BYTES, post_webhook
from tests.conftest import SettingsOverride
from tests.harness.fresh_process import run_in_fresh_process
from tests.harness.receiver import Reply
from tests.harness.waiting import wait_until
from tests.kernel.outbound.webhook_requests import BODY, BROKEN, CLOSED, HEADERS, post

GIBIBYTE: Final = 2**30


@pytest.fixture(autouse=True)
def allow_private_addresses(configure: SettingsOverride) -> Iterator[None]:
    configure(webhook_allow_private="1")
    yield
    egress.reset_pool()


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
    assert (response.status, response.error, response.body, response.timed_out) == (200, None, "", False)


@pytest.mark.parametrize("path", ["", "/", "/a//b", "/%2e%2e/x?", "/x?y=%00&z=[1]&@"])
def test_the_path_is_that_of_the_target(path, receiver):
    assert post_webhook(receiver.url_at("localhost", path), BODY, {}).succeeded
    assert receiver.requests[0].path == (path or "/").rstrip("?")


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_2xx_status_is_a_success(status, receiver):
    response = post(receiver, Reply(status))
    assert (response.status, response.error, response.succeeded) == (status, None, True)


@pytest.mark.parametrize("status", [300, 304, 400, 410, 429, 500, 503, 599])
def test_another_status_is_a_failure(status, receiver):
    response = post(receiver, Reply(status, body=b"" if status == 304 else b"no"))
    assert (response.status, response.error, response.succeeded) == (status, None, False)


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


def test_a_compressed_body_is_not_decompressed(receiver):
    assert post(receiver, Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bxyz")).body == "\x1f�xyz"


def test_a_chunked_body_is_assembled(receiver):
    chunks = [b"3\r\nabc\r\n", b"4\r\ndefg\r\n", b"0\r\n\r\n"]
    for _ in range(2):
        assert post(receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=chunks)).body == "abcdefg"
    assert receiver.connection_count == 1


def test_only_the_beginning_of_a_large_body_is_read(receiver):
    gigabyte = repeat(b"x" * 65_536, GIBIBYTE // 65_536)
    response = post(receiver, Reply(headers={"Content-Length": str(GIBIBYTE)}, body=gigabyte))
    assert (response.status, response.body) == (200, "x" * MAX_RESPONSE_BYTES)
    assert response.duration_ms < 2_000
    wait_until(lambda: receiver.open_connection_count == 0)
    assert receiver.sent_bytes < GIBIBYTE // 10


def test_an_endless_body_is_cut_off(receiver):
    response = post(
        receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=repeat(b"400\r\n" + b"x" * 1024 + b"\r\n"))
    )
    assert response.body == "x" * MAX_RESPONSE_BYTES
    wait_until(lambda: receiver.open_connection_count == 0)


@pytest.mark.parametrize("header", [b"X: " + b"x" * 200_000, b"\r\n".join([b"X: y"] * 50_000)])
def test_endless_headers_are_no_response(header, receiver):
    assert (
        post(receiver, Reply(raw_response=b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n", closes_connection=True)).error
        == BROKEN
    )


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", CLOSED),
        (b"H", BROKEN),
        (b"HTTP/1.1 20", BROKEN),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", BROKEN),
        (b"\r\n\r\n", BROKEN),
        (b"SSH-2.0-OpenSSH_9.9\r\n", BROKEN),
        (b"220 mail.example ESMTP\r\n", BROKEN),
        (b"\x16\x03\x01\x00\x00", BROKEN),
        (b"HTTP/1.1 abc OK\r\n\r\n", BROKEN),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", BROKEN),
    ],
)
def test_an_invalid_response_is_described(raw, error, receiver):
    response = post(receiver, Reply(raw_response=raw, closes_connection=True))
    assert (response.status, response.error, response.body, response.timed_out) == (None, error, "", False)
    assert len(receiver.requests) == 1, "a request that may have been processed is not sent again"


def test_the_status_is_returned_when_the_body_is_truncated(receiver):
    response = post(receiver, Reply(headers={"Content-Length": "100"}, body=b"half", closes_connection=True))
    assert (response.status, response.error, response.body) == (200, None, "half")


def test_data_beyond_the_content_length_is_ignored(receiver):
    response = post(receiver, Reply(headers={"Content-Length": "2"}, body=b"ok, and more", closes_connection=True))
    assert (response.status, response.body) == (200, "ok")


def test_the_status_is_returned_when_a_chunk_is_invalid(receiver):
    response = post(
        receiver,
        Reply(headers={"Transfer-Encoding": "chunked"}, body=[b"2\r\nok\r\n", b"what?\r\n"], closes_connection=True),
    )
    assert (response.status, response.error, response.body) == (200, None, "ok")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("86400", 86_400),
        ("Fri, 20 Nov 2026 09:31:30 GMT", 90),
        ("Fri, 20 Nov 2026 09:31:30 +0000", 90),
        ("Fri, 20 Nov 2026 09:31:30 -0000", 90),
        ("Fri, 20 Nov 2026 09:00:00 GMT", 0),
        ("Friday, 20-Nov-26 09:31:30 GMT", 90),
        ("Fri Nov 20 09:31:30 2026", 90),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 10_000, None),
        ("٣", None),
        ("1, 2", None),
        ("Fri, 99 Nov 2026 09:31:30 GMT", None),
        ("Fri, 20 Nov 99999 09:31:30 GMT", None),
    ],
)
def test_retry_after_is_returned_in_seconds(header, seconds, receiver, clock):
    clock.freeze("2026-11-20T09:30:00Z")
    reply = Reply(raw_response=f"HTTP/1.1 503 No\r\nRetry-After: {header}\r\nContent-Length: 0\r\n\r\n".encode())
    response = post(receiver, reply)
    assert (response.status, response.retry_after) == (503, seconds)


def test_without_a_retry_after_header_there_is_no_delay(receiver):
    assert post(receiver, Reply(503)).retry_after is None


def test_the_first_of_two_retry_after_headers_is_used(receiver):
    raw = b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"
    assert post(receiver, Reply(raw_response=raw)).retry_after == 1


RAW_RESPONSES: Final = st.binary(max_size=200) | st.builds(
    lambda status, lines, body: b"HTTP/1.1 %d OK\r\n%s\r\n\r\n%s" % (status, b"\r\n".join(lines), body),
    st.integers(0, 1000),
    st.lists(
        st.sampled_from(
            [
                b"Content-Length: 3",
                b"Content-Length: -1",
                b"Content-Length: 99999999999999999999",
                b"Connection: close",
                b"Transfer-Encoding: chunked",
                b"Transfer-Encoding: gzip",
                b"Retry-After: 1e9",
                b"Upgrade: h2c",
                b": x",
                b"Content-Type: text/html; charset=utf-7",
                b"Location: http://169.254.169.254/",
                b"X:\xff\x00",
                b" folded",
            ]
        ),
        max_size=4,
    ),
    st.binary(max_size=50),
)


def test_no_response_raises_an_exception(receiver, monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 5)

    @hypothesis_settings(max_examples=200, deadline=None)
    @given(RAW_RESPONSES)
    def check_response(raw: bytes) -> None:
        response = post(receiver, Reply(raw_response=raw, closes_connection=True))
        assert (response.status is None) is (response.error is not None)
        assert not response.timed_out
        assert len(response.body.encode()) <= MAX_RESPONSE_BYTES

    check_response()


def test_network_libraries_are_imported_with_the_first_request():
    program = """
import json, sys
from chalicelib.kernel.outbound import ip_addresses, webhook_client, webhook_urls
print(json.dumps([name for name in ("httpcore", "h11", "dns", "idna", "ssl") if name in sys.modules]))
"""
    assert set(run_in_fresh_process(program)) <= {"ssl"}

"""Webhook requests arrive as sent and end at their deadline, and read a limited part of the response."""

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from threading import Barrier
from time import monotonic, sleep
from typing import Final

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.http_headers import parse_retry_after_or_none
from chalicelib.kernel.outbound.webhook_client import MAX_RESPONSE_BYTES, post_webhook
from tests.harness.receiver import NO_REPLY, Receiver, Reply
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


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        *(
            (Reply(body=body), text)
            for body, text in (
                (b"thanks", "thanks"),
                ("größer".encode(), "größer"),
                (b"a\xff\xfeb", "a��b"),
                (b"\x00\x01", "\x00\x01"),
                (b"x" * MAX_RESPONSE_BYTES, "x" * MAX_RESPONSE_BYTES),
                (b"x" * MAX_RESPONSE_BYTES + b"y", "x" * MAX_RESPONSE_BYTES),
                (b"x" * (MAX_RESPONSE_BYTES - 1) + "é".encode(), "x" * (MAX_RESPONSE_BYTES - 1)),
                (b"\xff" * 5000, "�" * (MAX_RESPONSE_BYTES // 3)),
            )
        ),
        (Reply(headers=CHUNKED, body=[b"3\r\nabc\r\n", b"4\r\ndefg\r\n", b"0\r\n\r\n"]), "abcdefg"),
        (Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bxyz"), "\x1f�xyz"),
        (Reply(raw_response=b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "ok"),
        (Reply(headers={"Content-Length": "100"}, body=b"half", closes_connection=True), "half"),
        (Reply(headers={"Content-Length": "2"}, body=b"ok, and more", closes_connection=True), "ok"),
        (Reply(headers=CHUNKED, body=[b"2\r\nok\r\n", b"what?\r\n"], closes_connection=True), "ok"),
    ],
)
def test_the_first_kibibyte_of_a_complete_or_truncated_body_is_returned_as_text(reply, text, receiver):
    response = post(receiver, reply)
    assert (*outcome_of(response), response.body) == (200, None, False, text)
    assert len(text.encode()) <= MAX_RESPONSE_BYTES


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


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (["0", "Fri, 20 Nov 2026 09:29:00 GMT", "Fri, 20 Nov 2026 09:00:00 GMT"], 0),
        (["60", " 60 ", "Fri, 20 Nov 2026 09:31:00 GMT", "Fri, 20 Nov 2026 09:31:00 +0000"], 60),
        (["Fri, 20 Nov 2026 09:31:30 -0000", "Friday, 20-Nov-26 09:31:30 GMT", "Fri Nov 20 09:31:30 2026"], 90),
        (["86400"], 86_400),
        (["999999999"], 999_999_999),
        (["9999999999", "9" * 10_000, "-1", "1.5", "1, 2", "٣", "soon", "", None], None),
        (["Fri, 99 Nov 2026 09:31:00 GMT", "Fri, 20 Nov 99999 09:31:30 GMT"], None),
    ],
)
def test_seconds_and_dates_of_retry_after_are_parsed(values, seconds, clock):
    clock.freeze("2026-11-20T09:30:00.000Z")
    for value in values:
        assert parse_retry_after_or_none(value) == seconds, value


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

    @hypothesis_settings(max_examples=100)
    @given(RAW_RESPONSES)
    def check_response(raw: bytes) -> None:
        response = post(receiver, Reply(raw_response=raw, closes_connection=True))
        assert (response.status is None) is (response.error is not None)
        assert not response.timed_out
        assert len(response.body.encode()) <= MAX_RESPONSE_BYTES

    check_response()


DIES = Reply(raw_response=b"", closes_connection=True)


@pytest.fixture
def short_timeout(monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.5)


@pytest.fixture
def two_second_timeout(monkeypatch):
    """Limit a request to two seconds, within which a status arrives on any machine."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 2.0)


def test_the_limits_are_the_documented_ones():
    assert (egress.CONNECT_SECONDS, webhook_client.TOTAL_SECONDS, MAX_RESPONSE_BYTES) == (3, 15, 1024)


@pytest.mark.usefixtures("short_timeout")
@pytest.mark.parametrize(
    "reply",
    [
        NO_REPLY,
        Reply(delay_seconds=0.6),
        Reply(headers={"X": "y" * 100}, byte_delay_seconds=0.05),
        Reply(raw_response=b"HTTP/1.1 200 OK\r\nX: "),
        Reply(raw_response=b"HTTP/1.1 102 Processing\r\n\r\n" * 100, byte_delay_seconds=0.01),
    ],
)
def test_a_slow_response_is_ended_at_the_deadline(reply, receiver, monkeypatch):
    response = post(receiver, reply)
    assert outcome_of(response) == (None, "The server did not respond within 0.5 s.", True)
    assert 500 <= response.duration_ms < 10_000
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 15)
    assert post(receiver, Reply()).succeeded
    assert receiver.connection_count == 2, "a late response must not be taken for the next one"


@pytest.mark.usefixtures("two_second_timeout")
def test_a_slow_body_is_cut_off_at_the_deadline(receiver):
    response = post(receiver, lambda _: Reply(headers={"Content-Length": "100"}, body=slow_body(0.2)))
    assert (*outcome_of(response), response.succeeded) == (200, None, True, True)
    assert 1 <= len(response.body) < 80
    assert 2_000 <= response.duration_ms < 10_000


def slow_body(seconds):
    started_at = monotonic()
    for number in range(1, 101):
        sleep(max(0, started_at + number * seconds - monotonic()))
        yield b"x"


@pytest.mark.usefixtures("short_timeout")
def test_a_receiver_that_does_not_read_is_ended_at_the_deadline(receiver):
    receiver.reads_bodies, receiver.default_reply = False, NO_REPLY
    response = post_webhook(receiver.url, b"x" * 50_000_000, {})
    assert outcome_of(response) == (None, "The server did not respond within 0.5 s.", True)
    assert 500 <= response.duration_ms < 10_000


def test_a_response_before_the_end_of_the_request_is_returned(receiver):
    receiver.default_reply = Reply(413, body=b"too much", closes_connection=True)
    receiver.reads_bodies = False
    response = post_webhook(receiver.url, b"x" * 1_000_000, {})
    assert (response.status, response.error) in ((413, None), (None, CLOSED)), "a reset may overtake the response"


def test_a_refused_connection_is_described():
    with Receiver() as receiver:
        url = receiver.url
    assert outcome_of(post_webhook(url, BODY, {})) == (None, "The connection was refused.", False)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers={"Connection": "close"}),
        Reply(body=b"x" * 5000),
        Reply(headers={"Content-Length": "9"}, closes_connection=True),
    ],
)
def test_only_a_connection_with_a_finished_response_is_reused(reply, receiver):
    chunked = Reply(headers=CHUNKED, body=[b"2\r\nok\r\n", b"0\r\n\r\n"])
    assert [post(receiver, each).body for each in (Reply(body=b"ok"), chunked, Reply(body=b"ok"))] == ["ok"] * 3
    assert receiver.connection_count == 1
    assert [post(receiver, reply).status for _ in range(3)] == [200] * 3
    assert receiver.connection_count == 3


def test_a_connection_closed_by_the_server_is_not_reused(receiver):
    assert post(receiver).succeeded
    receiver.close_connections()
    wait_until(lambda: receiver.open_connection_count == 0)
    assert post(receiver).succeeded
    assert (len(receiver.requests), receiver.connection_count) == (2, 2)


def test_a_request_on_a_dying_connection_is_sent_again_on_a_new_one(receiver):
    assert post(receiver).succeeded
    replies = iter([DIES, Reply(body=b"ok")])
    response = post(receiver, lambda _: next(replies))
    assert (response.body, [attempt.error for attempt in response.earlier_attempts]) == ("ok", [CLOSED])
    assert (len(receiver.requests), receiver.connection_count) == (3, 2)


def test_a_request_outlives_several_dead_connections(receiver):
    barrier = Barrier(3, timeout=60)
    receiver.default_reply = lambda _: Reply(headers={"X-Waited": str(barrier.wait())})
    with ThreadPoolExecutor(3) as threads:
        assert all(response.succeeded for response in threads.map(lambda _: post(receiver), range(3)))
    replies = iter([*[DIES] * 3, Reply(body=b"ok")])
    response = post(receiver, lambda _: next(replies))
    assert (response.body, len(response.earlier_attempts)) == ("ok", 3)
    assert (len(receiver.requests), receiver.connection_count) == (7, 4)


def test_a_request_with_a_partial_response_is_not_sent_again(receiver):
    assert post(receiver).succeeded
    assert post(receiver, Reply(raw_response=b"H", closes_connection=True)).error == BROKEN
    assert (len(receiver.requests), receiver.connection_count) == (2, 1)


@pytest.mark.usefixtures("two_second_timeout")
def test_a_request_that_timed_out_is_not_sent_again(receiver, monkeypatch):
    response = post(receiver, Reply(headers={"Content-Length": "100"}, body=b"half"))
    assert (*outcome_of(response), response.body) == (200, None, True, "half")
    assert len(receiver.requests) == 1
    assert post(receiver, Reply()).succeeded
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.5)
    assert post(receiver, NO_REPLY).timed_out
    assert len(receiver.requests) == 3


def test_threads_share_connections_and_receive_their_own_responses(receiver):
    receiver.default_reply = lambda request: Reply(body=request.body)
    with ThreadPoolExecutor(16) as threads:
        bodies = [*threads.map(lambda number: post_webhook(receiver.url, b"%d" % number, {}).body, range(200))]
    assert bodies == [str(number) for number in range(200)]
    assert receiver.connection_count <= 16

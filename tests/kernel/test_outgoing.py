"""Requests to other servers end in time, read little, and return the response as it was."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from threading import Barrier
from time import monotonic
from typing import Final

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import MAX_BODY_BYTES, WebhookResponse, post_webhook
from tests.conftest import Configure
from tests.harness.clock import Clock
from tests.harness.fresh_process import fresh
from tests.harness.receiver import HANG, Receiver, Reply, Request
from tests.harness.waiting import until

BODY: Final = b'{"type":"organization.updated"}'
HEADERS: Final = {"Content-Type": "application/json", "webhook-id": "01939d3c-0000-7000-8000-00000000000a"}
CLOSED: Final = "The server closed the connection without a response."
BROKEN: Final = "The response is not HTTP, or ended before the status."
GIBIBYTE: Final = 2**30


@pytest.fixture(autouse=True)
def allow_private_addresses(configure: Configure) -> Iterator[None]:
    configure(webhook_allow_private="1")
    yield
    egress.reset_pool()


@pytest.fixture
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a request to half a second."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.5)


@pytest.fixture
def two_second_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a request to two seconds, within which a status arrives on any machine."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 2.0)


def post(receiver: Receiver, reply: Reply | Callable[[Request], Reply] | None = None) -> WebhookResponse:
    """Return the response to a request that the receiver answers with this reply."""
    if reply:
        receiver.answer = reply
    return post_webhook(receiver.url, BODY, HEADERS)


def test_a_request_arrives_as_sent(receiver: Receiver) -> None:
    response = post_webhook(receiver.at("127.0.0.1", "/hooks?a=b"), BODY, HEADERS)
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
def test_the_path_is_that_of_the_target(path: str, receiver: Receiver) -> None:
    assert post_webhook(receiver.at("localhost", path), BODY, {}).succeeded
    assert receiver.requests[0].path == (path or "/").rstrip("?")


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_2xx_status_is_a_success(status: int, receiver: Receiver) -> None:
    response = post(receiver, Reply(status))
    assert (response.status, response.error, response.succeeded) == (status, None, True)


@pytest.mark.parametrize("status", [300, 304, 400, 410, 429, 500, 503, 599])
def test_another_status_is_a_failure(status: int, receiver: Receiver) -> None:
    response = post(receiver, Reply(status, body=b"" if status == 304 else b"no"))
    assert (response.status, response.error, response.succeeded) == (status, None, False)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, receiver: Receiver) -> None:
    receiver.answers["/"] = Reply(status, {"Location": receiver.at("127.0.0.1", "/elsewhere")})
    response = post(receiver)
    assert (response.status, response.succeeded) == (status, False)
    assert [request.path for request in receiver.requests] == ["/"]


def test_informational_responses_are_skipped(receiver: Receiver) -> None:
    raw = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
    assert (post(receiver, Reply(raw=raw)).status, post(receiver).body) == (201, "ok")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"thanks", "thanks"),
        ("größer".encode(), "größer"),
        (b"a\xff\xfeb", "a��b"),
        (b"\x00\x01", "\x00\x01"),
        (b"x" * MAX_BODY_BYTES, "x" * MAX_BODY_BYTES),
        (b"x" * MAX_BODY_BYTES + b"y", "x" * MAX_BODY_BYTES),
        (b"x" * (MAX_BODY_BYTES - 1) + "é".encode(), "x" * (MAX_BODY_BYTES - 1)),
        (b"\xff" * 5000, "�" * (MAX_BODY_BYTES // 3)),
    ],
)
def test_the_first_kibibyte_of_the_body_is_returned_as_text(body: bytes, text: str, receiver: Receiver) -> None:
    assert post(receiver, Reply(body=body)).body == text
    assert len(text.encode()) <= MAX_BODY_BYTES


def test_a_compressed_body_is_not_decompressed(receiver: Receiver) -> None:
    assert post(receiver, Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bxyz")).body == "\x1f�xyz"


def test_a_chunked_body_is_assembled(receiver: Receiver) -> None:
    chunks = [b"3\r\nabc\r\n", b"4\r\ndefg\r\n", b"0\r\n\r\n"]
    for _ in range(2):
        assert post(receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=chunks)).body == "abcdefg"
    assert receiver.connections == 1


def test_only_the_beginning_of_a_large_body_is_read(receiver: Receiver) -> None:
    gigabyte = repeat(b"x" * 65_536, GIBIBYTE // 65_536)
    response = post(receiver, Reply(headers={"Content-Length": str(GIBIBYTE)}, body=gigabyte))
    assert (response.status, response.body) == (200, "x" * MAX_BODY_BYTES)
    assert response.duration_ms < 2_000
    until(lambda: receiver.open_connections == 0)
    assert receiver.sent < GIBIBYTE // 10


def test_an_endless_body_is_cut_off(receiver: Receiver) -> None:
    response = post(
        receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=repeat(b"400\r\n" + b"x" * 1024 + b"\r\n"))
    )
    assert response.body == "x" * MAX_BODY_BYTES
    until(lambda: receiver.open_connections == 0)


@pytest.mark.parametrize("header", [b"X: " + b"x" * 200_000, b"\r\n".join([b"X: y"] * 50_000)])
def test_endless_headers_are_no_response(header: bytes, receiver: Receiver) -> None:
    assert post(receiver, Reply(raw=b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n", closes=True)).error == BROKEN


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
def test_an_invalid_response_is_described(raw: bytes, error: str, receiver: Receiver) -> None:
    response = post(receiver, Reply(raw=raw, closes=True))
    assert (response.status, response.error, response.body, response.timed_out) == (None, error, "", False)
    assert len(receiver.requests) == 1, "a request that may have been processed is not sent again"


def test_the_status_is_returned_when_the_body_is_truncated(receiver: Receiver) -> None:
    response = post(receiver, Reply(headers={"Content-Length": "100"}, body=b"half", closes=True))
    assert (response.status, response.error, response.body) == (200, None, "half")


@pytest.mark.usefixtures("two_second_timeout")
def test_the_status_is_returned_when_the_body_does_not_arrive(receiver: Receiver) -> None:
    response = post(receiver, Reply(headers={"Content-Length": "100"}, body=b"half"))
    assert (response.status, response.error, response.body, response.timed_out) == (200, None, "half", True)


def test_data_beyond_the_content_length_is_ignored(receiver: Receiver) -> None:
    response = post(receiver, Reply(headers={"Content-Length": "2"}, body=b"ok, and more", closes=True))
    assert (response.status, response.body) == (200, "ok")


def test_the_status_is_returned_when_a_chunk_is_invalid(receiver: Receiver) -> None:
    response = post(
        receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=[b"2\r\nok\r\n", b"what?\r\n"], closes=True)
    )
    assert (response.status, response.error, response.body) == (200, None, "ok")


def test_the_limits_are_the_documented_ones() -> None:
    assert (egress.CONNECT_SECONDS, webhook_client.TOTAL_SECONDS, MAX_BODY_BYTES) == (3, 15, 1024)


@pytest.mark.usefixtures("short_timeout")
@pytest.mark.parametrize(
    "reply",
    [
        HANG,
        Reply(delay=0.6),
        Reply(headers={"X": "y" * 100}, pause=0.05),
        Reply(raw=b"HTTP/1.1 200 OK\r\nX: "),
        Reply(raw=b"HTTP/1.1 102 Processing\r\n\r\n" * 100, pause=0.01),
    ],
)
def test_a_slow_response_is_ended_at_the_deadline(
    reply: Reply, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = post(receiver, reply)
    assert (response.status, response.error, response.timed_out) == (
        None,
        "The server did not respond within 0.5 s.",
        True,
    )
    assert 500 <= response.duration_ms < 2_500
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 15)
    assert post(receiver, Reply()).succeeded
    assert receiver.connections == 2, "a late response must not be taken for the next one"


@pytest.mark.usefixtures("two_second_timeout")
def test_a_slow_body_is_cut_off_at_the_deadline(receiver: Receiver) -> None:
    response = post(receiver, lambda _: Reply(headers={"Content-Length": "100"}, body=slow_body(0.05)))
    assert (response.status, response.succeeded, response.timed_out) == (200, True, True)
    assert 1 <= len(response.body) < 80
    assert 2_000 <= response.duration_ms < 4_000


def slow_body(seconds: float) -> Iterator[bytes]:
    started_at = monotonic()
    for number in range(1, 101):
        until(lambda deadline=started_at + number * seconds: monotonic() >= deadline)  # type: ignore[misc]
        yield b"x"


@pytest.mark.usefixtures("short_timeout")
def test_a_receiver_that_does_not_read_is_ended_at_the_deadline(receiver: Receiver) -> None:
    receiver.reads, receiver.answer = False, HANG
    response = post_webhook(receiver.url, b"x" * 50_000_000, {})
    assert (response.status, response.error, response.timed_out) == (
        None,
        "The server did not respond within 0.5 s.",
        True,
    )
    assert 500 <= response.duration_ms < 2_500


def test_a_response_before_the_end_of_the_request_is_returned(receiver: Receiver) -> None:
    receiver.answer = Reply(413, body=b"too much", closes=True)
    receiver.reads = False
    response = post_webhook(receiver.url, b"x" * 1_000_000, {})
    assert (response.status, response.error) in ((413, None), (None, CLOSED)), "a reset may overtake the response"


def test_a_refused_connection_is_described() -> None:
    with Receiver() as receiver:
        url = receiver.url
    response = post_webhook(url, BODY, {})
    assert (response.status, response.error, response.timed_out) == (None, "The connection was refused.", False)


def test_a_connection_is_reused(receiver: Receiver) -> None:
    assert [post(receiver, Reply(body=b"ok")).body for _ in range(5)] == ["ok"] * 5
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers={"Connection": "close"}),
        Reply(body=b"x" * 5000),
        Reply(headers={"Content-Length": "9"}, closes=True),
    ],
)
def test_a_connection_with_an_unfinished_response_is_not_reused(reply: Reply, receiver: Receiver) -> None:
    assert [post(receiver, reply).status for _ in range(3)] == [200] * 3
    assert receiver.connections == 3


def test_a_connection_closed_by_the_server_is_not_reused(receiver: Receiver) -> None:
    assert post(receiver).succeeded
    receiver.drop()
    until(lambda: receiver.open_connections == 0)
    assert post(receiver).succeeded
    assert (len(receiver.requests), receiver.connections) == (2, 2)


def test_a_request_on_a_dying_connection_is_sent_again_on_a_new_one(receiver: Receiver) -> None:
    assert post(receiver).succeeded
    replies = iter([Reply(raw=b"", closes=True), Reply(body=b"ok")])
    response = post(receiver, lambda _: next(replies))
    assert (response.body, [attempt.error for attempt in response.earlier_attempts]) == ("ok", [CLOSED])
    assert (len(receiver.requests), receiver.connections) == (3, 2)


def test_a_request_outlives_several_dead_connections(receiver: Receiver) -> None:
    barrier = Barrier(3, timeout=10)
    receiver.answer = lambda _: Reply(headers={"X-Waited": str(barrier.wait())})
    with ThreadPoolExecutor(3) as threads:
        assert all(response.succeeded for response in threads.map(lambda _: post(receiver), range(3)))
    replies = iter([*[Reply(raw=b"", closes=True)] * 3, Reply(body=b"ok")])
    response = post(receiver, lambda _: next(replies))
    assert (response.body, len(response.earlier_attempts)) == ("ok", 3)
    assert (len(receiver.requests), receiver.connections) == (7, 4)


def test_a_request_with_a_partial_response_is_not_sent_again(receiver: Receiver) -> None:
    assert post(receiver).succeeded
    assert post(receiver, Reply(raw=b"H", closes=True)).error == BROKEN
    assert (len(receiver.requests), receiver.connections) == (2, 1)


@pytest.mark.usefixtures("two_second_timeout")
def test_a_request_that_timed_out_is_not_sent_again(receiver: Receiver) -> None:
    assert post(receiver).succeeded
    assert post(receiver, HANG).timed_out
    assert len(receiver.requests) == 2


def test_threads_share_connections_and_receive_their_own_responses(receiver: Receiver) -> None:
    receiver.answer = lambda request: Reply(body=request.body)
    with ThreadPoolExecutor(16) as threads:
        bodies = [*threads.map(lambda number: post_webhook(receiver.url, b"%d" % number, {}).body, range(200))]
    assert bodies == [str(number) for number in range(200)]
    assert receiver.connections <= 16


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
def test_retry_after_is_returned_in_seconds(header: str, seconds: int | None, receiver: Receiver, clock: Clock) -> None:
    clock.freeze("2026-11-20T09:30:00Z")
    reply = Reply(raw=f"HTTP/1.1 503 No\r\nRetry-After: {header}\r\nContent-Length: 0\r\n\r\n".encode())
    response = post(receiver, reply)
    assert (response.status, response.retry_after) == (503, seconds)


def test_without_a_retry_after_header_there_is_no_delay(receiver: Receiver) -> None:
    assert post(receiver, Reply(503)).retry_after is None


def test_the_first_of_two_retry_after_headers_is_used(receiver: Receiver) -> None:
    raw = b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"
    assert post(receiver, Reply(raw=raw)).retry_after == 1


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


def test_no_response_raises_an_exception(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 5)

    @hypothesis_settings(max_examples=200, deadline=None)
    @given(RAW_RESPONSES)
    def check_response(raw: bytes) -> None:
        response = post(receiver, Reply(raw=raw, closes=True))
        assert (response.status is None) is (response.error is not None)
        assert not response.timed_out
        assert len(response.body.encode()) <= MAX_BODY_BYTES

    check_response()


def test_network_libraries_are_imported_with_the_first_request() -> None:
    program = """
import json, sys
from chalicelib.kernel.outbound import ip_addresses, webhook_client, webhook_urls
print(json.dumps([name for name in ("httpcore", "h11", "dns", "idna", "ssl") if name in sys.modules]))
"""
    assert set(fresh(program)) <= {"ssl"}

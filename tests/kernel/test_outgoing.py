"""A request to a stranger's server ends in time and reads little, and its answer is told as it was."""

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
def private_allowed(configure: Configure) -> Iterator[None]:
    configure(webhook_allow_private="1")
    yield
    egress.reset_pool()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a whole request take less than a second."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.5)


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a whole request take two seconds: time enough for a status, on any machine."""
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 2.0)


def sent(receiver: Receiver, reply: Reply | Callable[[Request], Reply] | None = None) -> WebhookResponse:
    """Return what comes of a request that is answered so."""
    if reply:
        receiver.answer = reply
    return post_webhook(receiver.url, BODY, HEADERS)


def test_a_request_arrives_as_it_was_sent(receiver: Receiver) -> None:
    answer = post_webhook(receiver.at("127.0.0.1", "/hooks?a=b"), BODY, HEADERS)
    [request] = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks?a=b", BODY)
    assert dict(request.headers) == HEADERS | {
        "Host": f"127.0.0.1:{receiver.port}",
        "User-Agent": f"Atrium/{VERSION}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(BODY)),
    }
    assert (answer.status, answer.error, answer.body, answer.timed_out) == (200, None, "", False)


@pytest.mark.parametrize("path", ["", "/", "/a//b", "/%2e%2e/x?", "/x?y=%00&z=[1]&@"])
def test_the_path_is_what_the_target_says(path: str, receiver: Receiver) -> None:
    assert post_webhook(receiver.at("localhost", path), BODY, {}).succeeded
    assert receiver.requests[0].path == (path or "/").rstrip("?")


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_what_is_taken_has_succeeded(status: int, receiver: Receiver) -> None:
    answer = sent(receiver, Reply(status))
    assert (answer.status, answer.error, answer.succeeded) == (status, None, True)


@pytest.mark.parametrize("status", [300, 304, 400, 410, 429, 500, 503, 599])
def test_what_is_refused_has_not_succeeded(status: int, receiver: Receiver) -> None:
    answer = sent(receiver, Reply(status, body=b"" if status == 304 else b"no"))
    assert (answer.status, answer.error, answer.succeeded) == (status, None, False)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(status: int, receiver: Receiver) -> None:
    receiver.answers["/"] = Reply(status, {"Location": receiver.at("127.0.0.1", "/elsewhere")})
    answer = sent(receiver)
    assert (answer.status, answer.succeeded) == (status, False)
    assert [request.path for request in receiver.requests] == ["/"]


def test_what_comes_before_the_answer_is_not_the_answer(receiver: Receiver) -> None:
    raw = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
    assert (sent(receiver, Reply(raw=raw)).status, sent(receiver).body) == (201, "ok")


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
def test_the_first_kibibyte_of_an_answer_is_kept_as_text(body: bytes, text: str, receiver: Receiver) -> None:
    assert sent(receiver, Reply(body=body)).body == text
    assert len(text.encode()) <= MAX_BODY_BYTES


def test_what_is_compressed_all_the_same_stays_so(receiver: Receiver) -> None:
    assert sent(receiver, Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bxyz")).body == "\x1f�xyz"


def test_an_answer_in_chunks_is_put_together(receiver: Receiver) -> None:
    chunks = [b"3\r\nabc\r\n", b"4\r\ndefg\r\n", b"0\r\n\r\n"]
    for _ in range(2):
        assert sent(receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=chunks)).body == "abcdefg"
    assert receiver.connections == 1


def test_of_a_gigabyte_little_is_read(receiver: Receiver) -> None:
    gigabyte = repeat(b"x" * 65_536, GIBIBYTE // 65_536)
    answer = sent(receiver, Reply(headers={"Content-Length": str(GIBIBYTE)}, body=gigabyte))
    assert (answer.status, answer.body) == (200, "x" * MAX_BODY_BYTES)
    assert answer.duration_ms < 2_000
    until(lambda: receiver.open_connections == 0)
    assert receiver.sent < GIBIBYTE // 10


def test_an_endless_answer_is_ended(receiver: Receiver) -> None:
    answer = sent(
        receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=repeat(b"400\r\n" + b"x" * 1024 + b"\r\n"))
    )
    assert answer.body == "x" * MAX_BODY_BYTES
    until(lambda: receiver.open_connections == 0)


@pytest.mark.parametrize("header", [b"X: " + b"x" * 200_000, b"\r\n".join([b"X: y"] * 50_000)])
def test_headers_without_end_are_no_answer(header: bytes, receiver: Receiver) -> None:
    assert sent(receiver, Reply(raw=b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n", closes=True)).error == BROKEN


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
def test_what_is_no_answer_is_said_in_words(raw: bytes, error: str, receiver: Receiver) -> None:
    answer = sent(receiver, Reply(raw=raw, closes=True))
    assert (answer.status, answer.error, answer.body, answer.timed_out) == (None, error, "", False)
    assert len(receiver.requests) == 1, "what may have been taken is not sent again"


def test_a_status_counts_even_if_the_body_breaks_off(receiver: Receiver) -> None:
    answer = sent(receiver, Reply(headers={"Content-Length": "100"}, body=b"half", closes=True))
    assert (answer.status, answer.error, answer.body) == (200, None, "half")


@pytest.mark.usefixtures("brisk")
def test_a_status_counts_even_if_the_body_does_not_come(receiver: Receiver) -> None:
    answer = sent(receiver, Reply(headers={"Content-Length": "100"}, body=b"half"))
    assert (answer.status, answer.error, answer.body, answer.timed_out) == (200, None, "half", True)


def test_what_is_more_than_was_announced_is_not_the_answer(receiver: Receiver) -> None:
    answer = sent(receiver, Reply(headers={"Content-Length": "2"}, body=b"ok, and more", closes=True))
    assert (answer.status, answer.body) == (200, "ok")


def test_chunks_that_are_none_do_not_take_back_the_status(receiver: Receiver) -> None:
    answer = sent(
        receiver, Reply(headers={"Transfer-Encoding": "chunked"}, body=[b"2\r\nok\r\n", b"what?\r\n"], closes=True)
    )
    assert (answer.status, answer.error, answer.body) == (200, None, "ok")


def test_the_limits_are_what_the_contract_says() -> None:
    assert (egress.CONNECT_SECONDS, webhook_client.TOTAL_SECONDS, MAX_BODY_BYTES) == (3, 15, 1024)


@pytest.mark.usefixtures("hurried")
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
def test_what_takes_too_long_is_ended_in_time(
    reply: Reply, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = sent(receiver, reply)
    assert (answer.status, answer.error, answer.timed_out) == (None, "The server did not respond within 0.5 s.", True)
    assert 500 <= answer.duration_ms < 2_500
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 15)
    assert sent(receiver, Reply()).succeeded
    assert receiver.connections == 2, "an answer that is still to come must not be taken for the next"


@pytest.mark.usefixtures("brisk")
def test_a_body_that_drips_is_ended_in_time_and_what_came_is_kept(receiver: Receiver) -> None:
    answer = sent(receiver, lambda _: Reply(headers={"Content-Length": "100"}, body=dripping(0.05)))
    assert (answer.status, answer.succeeded, answer.timed_out) == (200, True, True)
    assert 1 <= len(answer.body) < 80
    assert 2_000 <= answer.duration_ms < 4_000


def dripping(seconds: float) -> Iterator[bytes]:
    begun = monotonic()
    for number in range(1, 101):
        until(lambda moment=begun + number * seconds: monotonic() >= moment)  # type: ignore[misc]
        yield b"x"


@pytest.mark.usefixtures("hurried")
def test_a_server_that_reads_nothing_is_not_waited_for(receiver: Receiver) -> None:
    receiver.reads, receiver.answer = False, HANG
    answer = post_webhook(receiver.url, b"x" * 50_000_000, {})
    assert (answer.status, answer.error, answer.timed_out) == (None, "The server did not respond within 0.5 s.", True)
    assert 500 <= answer.duration_ms < 2_500


def test_a_server_that_answers_before_it_has_read_is_heard(receiver: Receiver) -> None:
    receiver.answer = Reply(413, body=b"too much", closes=True)
    receiver.reads = False
    answer = post_webhook(receiver.url, b"x" * 1_000_000, {})
    assert (answer.status, answer.error) in ((413, None), (None, CLOSED)), "a reset may overtake the answer"


def test_where_nobody_listens_the_connection_is_refused() -> None:
    with Receiver() as receiver:
        url = receiver.url
    answer = post_webhook(url, BODY, {})
    assert (answer.status, answer.error, answer.timed_out) == (None, "The connection was refused.", False)


def test_a_connection_is_used_again(receiver: Receiver) -> None:
    assert [sent(receiver, Reply(body=b"ok")).body for _ in range(5)] == ["ok"] * 5
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers={"Connection": "close"}),
        Reply(body=b"x" * 5000),
        Reply(headers={"Content-Length": "9"}, closes=True),
    ],
)
def test_a_connection_whose_answer_is_not_at_its_end_is_not_used_again(reply: Reply, receiver: Receiver) -> None:
    assert [sent(receiver, reply).status for _ in range(3)] == [200] * 3
    assert receiver.connections == 3


def test_a_connection_that_the_server_has_closed_is_not_used_again(receiver: Receiver) -> None:
    assert sent(receiver).succeeded
    receiver.drop()
    until(lambda: receiver.open_connections == 0)
    assert sent(receiver).succeeded
    assert (len(receiver.requests), receiver.connections) == (2, 2)


def test_a_request_that_meets_the_end_of_its_old_connection_is_sent_on_a_new_one(receiver: Receiver) -> None:
    assert sent(receiver).succeeded
    answers = iter([Reply(raw=b"", closes=True), Reply(body=b"ok")])
    answer = sent(receiver, lambda _: next(answers))
    assert (answer.body, [each.error for each in answer.earlier_attempts]) == ("ok", [CLOSED])
    assert (len(receiver.requests), receiver.connections) == (3, 2)


def test_however_many_old_connections_are_dead_there_is_a_new_one(receiver: Receiver) -> None:
    together = Barrier(3, timeout=10)
    receiver.answer = lambda _: Reply(headers={"X-Waited": str(together.wait())})
    with ThreadPoolExecutor(3) as three:
        assert all(answer.succeeded for answer in three.map(lambda _: sent(receiver), range(3)))
    answers = iter([*[Reply(raw=b"", closes=True)] * 3, Reply(body=b"ok")])
    answer = sent(receiver, lambda _: next(answers))
    assert (answer.body, len(answer.earlier_attempts)) == ("ok", 3)
    assert (len(receiver.requests), receiver.connections) == (7, 4)


def test_a_request_that_got_a_byte_back_is_not_sent_again(receiver: Receiver) -> None:
    assert sent(receiver).succeeded
    assert sent(receiver, Reply(raw=b"H", closes=True)).error == BROKEN
    assert (len(receiver.requests), receiver.connections) == (2, 1)


@pytest.mark.usefixtures("brisk")
def test_a_request_that_got_no_answer_in_time_is_not_sent_again(receiver: Receiver) -> None:
    assert sent(receiver).succeeded
    assert sent(receiver, HANG).timed_out
    assert len(receiver.requests) == 2


def test_threads_share_connections_and_get_their_own_answers(receiver: Receiver) -> None:
    receiver.answer = lambda request: Reply(body=request.body)
    with ThreadPoolExecutor(16) as many:
        answers = [*many.map(lambda number: post_webhook(receiver.url, b"%d" % number, {}).body, range(200))]
    assert answers == [str(number) for number in range(200)]
    assert receiver.connections <= 16


@pytest.mark.parametrize(
    ("said", "seconds"),
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
def test_how_long_to_wait_is_read_in_seconds(said: str, seconds: int | None, receiver: Receiver, clock: Clock) -> None:
    clock.freeze("2026-11-20T09:30:00Z")
    reply = Reply(raw=f"HTTP/1.1 503 No\r\nRetry-After: {said}\r\nContent-Length: 0\r\n\r\n".encode())
    answer = sent(receiver, reply)
    assert (answer.status, answer.retry_after) == (503, seconds)


def test_who_says_nothing_of_waiting_asks_for_none(receiver: Receiver) -> None:
    assert sent(receiver, Reply(503)).retry_after is None


def test_the_first_of_two_times_to_wait_holds(receiver: Receiver) -> None:
    raw = b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"
    assert sent(receiver, Reply(raw=raw)).retry_after == 1


ANYTHING: Final = st.binary(max_size=200) | st.builds(
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


def test_nothing_that_is_answered_raises(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 5)

    @hypothesis_settings(max_examples=200, deadline=None)
    @given(ANYTHING)
    def answers(raw: bytes) -> None:
        answer = sent(receiver, Reply(raw=raw, closes=True))
        assert (answer.status is None) is (answer.error is not None)
        assert not answer.timed_out
        assert len(answer.body.encode()) <= MAX_BODY_BYTES

    answers()


def test_nothing_is_imported_before_something_is_sent() -> None:
    program = """
import json, sys
from chalicelib.kernel.outbound import ip_addresses, webhook_client, webhook_urls
print(json.dumps([name for name in ("httpcore", "h11", "dns", "idna", "ssl") if name in sys.modules]))
"""
    assert set(fresh(program)) <= {"ssl"}

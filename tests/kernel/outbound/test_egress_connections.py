"""Webhook requests end at their deadline, and connections are reused only if no request can be lost or repeated."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import monotonic, sleep

import pytest

from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import MAX_RESPONSE_BYTES, post_webhook
from tests.harness.receiver import NO_REPLY, Receiver, Reply
from tests.harness.waiting import wait_until
from tests.kernel.outbound.webhook_requests import BODY, BROKEN, CLOSED, outcome_of, post

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

DIES = Reply(raw_response=b"", closes_connection=True)


@pytest.fixture
def short_timeout(monkeypatch):
    """Limit a request to half a second."""
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
    assert [post(receiver, Reply(body=b"ok")).body for _ in range(3)] == ["ok"] * 3
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

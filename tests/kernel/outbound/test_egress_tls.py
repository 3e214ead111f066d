"""Over TLS, a request is sent only to a server that proves to be the requested host."""

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.harness.certificates import CertificateAuthority
from tests.harness.receiver import NO_REPLY, Receiver, Reply
from tests.kernel.outbound.webhook_requests import outcome_of, post_to_host

NAME: Final = "hooks.example"
INTERNATIONAL: Final = "xn--mnchen-3ya.example"
NO_TLS: Final = "The TLS handshake failed."
OTHER_HOST: Final = "Hostname mismatch, certificate is not valid for 'hooks.example'"

AUTHORITY: Final = CertificateAuthority()


@pytest.fixture(autouse=True)
def resolved_hosts(nameserver, private_targets_allowed, tmp_path, monkeypatch):
    """Resolve the names to this machine, and trust the authority."""
    AUTHORITY.trust(tmp_path, monkeypatch)
    for name in (NAME, f"api.{NAME}", INTERNATIONAL):
        nameserver.set_replies(name, ["127.0.0.1"])


@pytest.mark.parametrize(
    ("host", "certificate_name"),
    [
        (NAME, NAME),
        (f"api.{NAME}", f"*.{NAME}"),
        (INTERNATIONAL, INTERNATIONAL),
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
    ],
)
def test_requests_are_sent_to_a_server_with_a_valid_certificate(host, certificate_name):
    with Receiver(tls=AUTHORITY.create_server_context(certificate_name)) as receiver:
        for _ in range(2):
            assert outcome_of(post_to_host(receiver, host)) == (200, None, False)
        assert receiver.requests[0].headers["Host"] == f"{host}:{receiver.port}"
        assert receiver.server_names == [None if host == "127.0.0.1" else host]
        assert receiver.connection_count == 1


@pytest.mark.parametrize(
    ("create_context", "reason"),
    [
        (lambda: AUTHORITY.create_server_context("other.example"), OTHER_HOST),
        (lambda: AUTHORITY.create_server_context("example"), OTHER_HOST),
        (lambda: AUTHORITY.create_server_context("127.0.0.1"), OTHER_HOST),
        (lambda: AUTHORITY.create_server_context(NAME, is_expired=True), "certificate has expired"),
        (lambda: CertificateAuthority().create_server_context(NAME), "unable to get local issuer certificate"),
        (lambda: CertificateAuthority().create_own_certificate_context(), "self-signed certificate"),
    ],
)
def test_an_invalid_certificate_is_rejected(create_context, reason):
    with Receiver(tls=create_context()) as receiver:
        response = post_to_host(receiver, NAME)
        assert outcome_of(response) == (None, f"The certificate is not valid for this host: {reason}.", False)
        assert (response.body, receiver.requests) == ("", [])


def test_a_server_without_tls_or_that_closes_the_connection_causes_a_handshake_error(receiver):
    response = post_webhook(f"https://{NAME}:{receiver.port}/", b"{}", {})
    assert outcome_of(response) == (None, NO_TLS, False)
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        closed = thread.submit(post_webhook, f"https://{NAME}:{listener.getsockname()[1]}/", b"{}", {})
        listener.accept()[0].close()
    assert outcome_of(closed.result()) == (None, NO_TLS, False)


def test_a_plain_request_to_a_tls_server_fails():
    with Receiver(tls=AUTHORITY.create_server_context(NAME)) as receiver:
        response = post_webhook(f"http://{NAME}:{receiver.port}/", b"{}", {})
        assert response.status is None
        assert response.error
        assert receiver.requests == []


def test_an_unresponsive_handshake_is_awaited_within_the_connection_timeout(monkeypatch):
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        response = post_webhook(f"https://{NAME}:{listener.getsockname()[1]}/", b"{}", {})
    assert outcome_of(response) == (None, "TLS was not ready within 0.3 s.", True)
    assert 300 <= response.duration_ms < 2_500


@pytest.mark.parametrize(
    ("reply", "body"),
    [(NO_REPLY, b"{}"), (Reply(body=b"x" * 100, byte_delay_seconds=0.05), b"{}"), (NO_REPLY, b"x" * 50_000_000)],
    ids=["no reply", "slow reply", "unread request"],
)
def test_a_slow_exchange_is_ended_at_the_deadline_over_tls(reply, body, monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 1.0)
    with Receiver(tls=AUTHORITY.create_server_context(NAME)) as receiver:
        receiver.reads_bodies, receiver.default_reply = len(body) < 100, reply
        response = post_webhook(receiver.url_at(NAME), body, {})
    assert outcome_of(response) == (None, "The server did not respond within 1 s.", True)
    assert 1_000 <= response.duration_ms < 10_000


def test_a_request_on_a_dying_tls_connection_is_sent_again():
    with Receiver(tls=AUTHORITY.create_server_context(NAME)) as receiver:
        assert post_to_host(receiver, NAME).succeeded
        replies = iter([Reply(raw_response=b"", closes_connection=True), Reply(body=b"ok")])
        receiver.default_reply = lambda _: next(replies)
        assert post_to_host(receiver, NAME).body == "ok"
        assert (len(receiver.requests), receiver.connection_count) == (3, 2)

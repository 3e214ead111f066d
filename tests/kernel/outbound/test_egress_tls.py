"""Over TLS, a request is sent only to a server that proves to be the requested host."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse, post_webhook
from tests.conftest import SettingsOverride
from tests.harness.certificates import CertificateAuthority
from tests.harness.nameserver import Nameserver
from tests.harness.receiver import NO_REPLY, Receiver, Reply

NAME: Final = "hooks.example"
INTERNATIONAL: Final = "xn--mnchen-3ya.example"
NO_TLS: Final = "The TLS handshake failed."


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(autouse=True)
def resolved_hosts(
    authority: CertificateAuthority, configure: SettingsOverride, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Resolve the names to this machine, and trust the authority."""
    authority.trust(tmp_path, monkeypatch)
    with Nameserver() as nameserver:
        for name in (NAME, f"api.{NAME}", INTERNATIONAL):
            nameserver.set_replies(name, ["127.0.0.1"])
        configure(dns_nameservers=nameserver.address, webhook_allow_private="1")
        yield
    egress.reset_pool()


def post(receiver: Receiver, host: str = NAME) -> WebhookResponse:
    return post_webhook(receiver.url_at(host), b"{}", {})


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
def test_a_request_is_sent_to_a_server_with_a_valid_certificate(host, certificate_name, authority):
    with Receiver(tls=authority.create_server_context(certificate_name)) as receiver:
        response = post(receiver, host)
        assert (response.status, response.error) == (200, None)
        assert receiver.requests[0].headers["Host"] == f"{host}:{receiver.port}"
        assert receiver.server_names == [None if host == "127.0.0.1" else host]


def test_a_tls_connection_is_reused(authority):
    with Receiver(tls=authority.create_server_context(NAME)) as receiver:
        assert [post(receiver).status for _ in range(3)] == [200] * 3
        assert receiver.connection_count == 1


@pytest.mark.parametrize(
    ("certificate_name", "reason"),
    [
        ("other.example", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
        ("example", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
        ("127.0.0.1", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
    ],
)
def test_a_certificate_of_another_host_is_rejected(certificate_name, reason, authority):
    with Receiver(tls=authority.create_server_context(certificate_name)) as receiver:
        response = post(receiver)
        assert (response.status, response.body, response.timed_out) == (None, "", False)
        assert response.error == f"The certificate is not valid for this host: {reason}."
        assert receiver.requests == []


def test_an_expired_certificate_is_rejected(authority):
    with Receiver(tls=authority.create_server_context(NAME, is_expired=True)) as receiver:
        assert post(receiver).error == "The certificate is not valid for this host: certificate has expired."
        assert receiver.requests == []


def test_a_certificate_of_an_unknown_authority_is_rejected():
    with Receiver(tls=CertificateAuthority().create_server_context(NAME)) as receiver:
        error = post(receiver).error
        assert error == "The certificate is not valid for this host: unable to get local issuer certificate."
        assert receiver.requests == []


def test_a_self_signed_certificate_is_rejected():
    with Receiver(tls=CertificateAuthority().create_own_certificate_context()) as receiver:
        assert post(receiver).error == "The certificate is not valid for this host: self-signed certificate."
        assert receiver.requests == []


def test_a_server_without_tls_causes_a_handshake_error(receiver):
    response = post_webhook(f"https://{NAME}:{receiver.port}/", b"{}", {})
    assert (response.status, response.error, response.timed_out) == (None, NO_TLS, False)


def test_a_connection_closed_during_the_handshake_is_described():
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        response = thread.submit(post_webhook, f"https://{NAME}:{listener.getsockname()[1]}/", b"{}", {})
        listener.accept()[0].close()
    assert (response.result().status, response.result().error) == (None, NO_TLS)


def test_a_plain_request_to_a_tls_server_fails(authority):
    with Receiver(tls=authority.create_server_context(NAME)) as receiver:
        response = post_webhook(f"http://{NAME}:{receiver.port}/", b"{}", {})
        assert response.status is None
        assert response.error
        assert receiver.requests == []


def test_an_unresponsive_handshake_is_awaited_within_the_connection_timeout(monkeypatch):
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        response = post_webhook(f"https://{NAME}:{listener.getsockname()[1]}/", b"{}", {})
    assert (response.status, response.error, response.timed_out) == (None, "TLS was not ready within 0.3 s.", True)
    assert 300 <= response.duration_ms < 2_500


@pytest.mark.parametrize("reply", [NO_REPLY, Reply(body=b"x" * 100, byte_delay_seconds=0.05)])
def test_a_slow_response_is_ended_at_the_deadline_over_tls(reply, authority, monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 1.0)
    with Receiver(tls=authority.create_server_context(NAME)) as receiver:
        receiver.default_reply = reply
        response = post(receiver)
    assert (response.error, response.timed_out) == ("The server did not respond within 1 s.", True)
    assert 1_000 <= response.duration_ms < 10_000


def test_a_receiver_that_does_not_read_is_ended_at_the_deadline_over_tls(authority, monkeypatch):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 1.0)
    with Receiver(tls=authority.create_server_context(NAME)) as receiver:
        receiver.reads_bodies, receiver.default_reply = False, NO_REPLY
        response = post_webhook(receiver.url_at(NAME), b"x" * 50_000_000, {})
    assert response.timed_out
    assert 1_000 <= response.duration_ms < 10_000


def test_a_request_on_a_dying_tls_connection_is_sent_again(authority):
    with Receiver(tls=authority.create_server_context(NAME)) as receiver:
        assert post(receiver).succeeded
        replies = iter([Reply(raw_response=b"", closes_connection=True), Reply(body=b"ok")])
        receiver.default_reply = lambda _: next(replies)
        assert post(receiver).body == "ok"
        assert (len(receiver.requests), receiver.connection_count) == (3, 2)

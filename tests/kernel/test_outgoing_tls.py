"""Over TLS a server has to prove that it is the host that was asked for; else it hears nothing."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from chalicelib.kernel.outbound import egress, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse, post_webhook
from tests.conftest import Configure
from tests.harness.certificates import Authority
from tests.harness.nameserver import Nameserver
from tests.harness.receiver import HANG, Receiver, Reply

NAME: Final = "hooks.example"
INTERNATIONAL: Final = "xn--mnchen-3ya.example"
NO_TLS: Final = "The TLS handshake failed."


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(autouse=True)
def outside(
    authority: Authority, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Names lead to this machine, and the authority is trusted."""
    authority.trust(tmp_path, monkeypatch)
    with Nameserver() as nameserver:
        for name in (NAME, f"api.{NAME}", INTERNATIONAL):
            nameserver.says(name, ["127.0.0.1"])
        configure(dns_nameservers=nameserver.address, webhook_allow_private="1")
        yield
    egress.reset_pool()


def sent(receiver: Receiver, host: str = NAME) -> WebhookResponse:
    return post_webhook(receiver.at(host), b"{}", {})


@pytest.mark.parametrize(
    ("host", "proven"),
    [
        (NAME, NAME),
        (f"api.{NAME}", f"*.{NAME}"),
        (INTERNATIONAL, INTERNATIONAL),
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
    ],
)
def test_who_proves_to_be_the_host_is_sent_to(host: str, proven: str, authority: Authority) -> None:
    with Receiver(tls=authority.server(proven)) as receiver:
        answer = sent(receiver, host)
        assert (answer.status, answer.error) == (200, None)
        assert receiver.requests[0].headers["Host"] == f"{host}:{receiver.port}"
        assert receiver.server_names == [None if host == "127.0.0.1" else host]


def test_a_connection_over_tls_is_used_again(authority: Authority) -> None:
    with Receiver(tls=authority.server(NAME)) as receiver:
        assert [sent(receiver).status for _ in range(3)] == [200] * 3
        assert receiver.connections == 1


@pytest.mark.parametrize(
    ("proven", "why"),
    [
        ("other.example", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
        ("example", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
        ("127.0.0.1", "Hostname mismatch, certificate is not valid for 'hooks.example'"),
    ],
)
def test_who_proves_to_be_somebody_else_hears_nothing(proven: str, why: str, authority: Authority) -> None:
    with Receiver(tls=authority.server(proven)) as receiver:
        answer = sent(receiver)
        assert (answer.status, answer.body, answer.timed_out) == (None, "", False)
        assert answer.error == f"The certificate is not valid for this host: {why}."
        assert receiver.requests == []


def test_a_certificate_that_has_expired_proves_nothing(authority: Authority) -> None:
    with Receiver(tls=authority.server(NAME, expired=True)) as receiver:
        assert sent(receiver).error == "The certificate is not valid for this host: certificate has expired."
        assert receiver.requests == []


def test_a_certificate_of_an_authority_that_nobody_knows_proves_nothing() -> None:
    with Receiver(tls=Authority().server(NAME)) as receiver:
        error = sent(receiver).error
        assert error == "The certificate is not valid for this host: unable to get local issuer certificate."
        assert receiver.requests == []


def test_a_certificate_that_one_gave_oneself_proves_nothing() -> None:
    with Receiver(tls=Authority().itself()) as receiver:
        assert sent(receiver).error == "The certificate is not valid for this host: self-signed certificate."
        assert receiver.requests == []


def test_a_server_without_tls_is_told_from_one_that_proves_nothing(receiver: Receiver) -> None:
    answer = post_webhook(f"https://{NAME}:{receiver.port}/", b"{}", {})
    assert (answer.status, answer.error, answer.timed_out) == (None, NO_TLS, False)


def test_a_server_that_hangs_up_before_tls_is_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as curt, ThreadPoolExecutor(1) as thread:
        answer = thread.submit(post_webhook, f"https://{NAME}:{curt.getsockname()[1]}/", b"{}", {})
        curt.accept()[0].close()
    assert (answer.result().status, answer.result().error) == (None, NO_TLS)


def test_a_server_with_tls_that_is_asked_without_is_no_server(authority: Authority) -> None:
    with Receiver(tls=authority.server(NAME)) as receiver:
        answer = post_webhook(f"http://{NAME}:{receiver.port}/", b"{}", {})
        assert answer.status is None
        assert answer.error
        assert receiver.requests == []


def test_tls_that_does_not_begin_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        answer = post_webhook(f"https://{NAME}:{silent.getsockname()[1]}/", b"{}", {})
    assert (answer.status, answer.error, answer.timed_out) == (None, "TLS was not ready within 0.3 s.", True)
    assert 300 <= answer.duration_ms < 2_500


@pytest.mark.parametrize("reply", [HANG, Reply(body=b"x" * 100, pause=0.05)])
def test_what_takes_too_long_is_ended_in_time_over_tls(
    reply: Reply, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 1.0)
    with Receiver(tls=authority.server(NAME)) as receiver:
        receiver.answer = reply
        answer = sent(receiver)
    assert (answer.error, answer.timed_out) == ("The server did not respond within 1 s.", True)
    assert 1_000 <= answer.duration_ms < 3_000


def test_a_server_that_reads_nothing_is_not_waited_for_over_tls(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 1.0)
    with Receiver(tls=authority.server(NAME)) as receiver:
        receiver.reads, receiver.answer = False, HANG
        answer = post_webhook(receiver.at(NAME), b"x" * 50_000_000, {})
    assert answer.timed_out
    assert 1_000 <= answer.duration_ms < 3_000


def test_a_connection_over_tls_that_has_ended_is_replaced(authority: Authority) -> None:
    with Receiver(tls=authority.server(NAME)) as receiver:
        assert sent(receiver).succeeded
        answers = iter([Reply(raw=b"", closes=True), Reply(body=b"ok")])
        receiver.answer = lambda _: next(answers)
        assert sent(receiver).body == "ok"
        assert (len(receiver.requests), receiver.connections) == (3, 2)

"""A request connects only to addresses that were resolved once and are allowed."""

import socket
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

import pytest

from chalicelib.kernel.outbound import egress
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.harness.receiver import Receiver, Reply
from tests.kernel.outbound.webhook_requests import outcome_of, post_to_host

PUBLIC: Final = "93.184.216.34"
SECOND_PUBLIC: Final = "93.184.216.35"
PUBLIC_IPV6: Final = "2606:4700::1111"
PRIVATE: Final = "10.0.0.7"
HOST: Final = "hooks.example"

original_create_connection: Final = socket.create_connection


class Internet:
    """Connects every address to one receiver, except for addresses that refuse connections."""

    def __init__(self, receiver: Receiver) -> None:
        self.connected_addresses: list[str] = []
        self.refusing_addresses: set[str] = set()
        self._receiver = receiver

    def connect(self, address: tuple[str, int], timeout: float) -> socket.socket:
        """Replace `socket.create_connection`, which would leave the machine."""
        self.connected_addresses.append(address[0])
        if address[0] in self.refusing_addresses:
            raise ConnectionRefusedError
        assert 0 < timeout <= egress.CONNECT_SECONDS
        return original_create_connection(("127.0.0.1", self._receiver.port), timeout)


@pytest.fixture
def internet(receiver, monkeypatch):
    internet = Internet(receiver)
    monkeypatch.setattr(socket, "create_connection", internet.connect)
    return internet


def is_blocked(response):
    """Return whether the response reveals nothing about a blocked address or the server behind it."""
    return (*outcome_of(response), response.body) == (None, "The host has no public address.", False, "")


def test_a_public_name_is_connected_by_address_and_requested_by_name(receiver, nameserver, internet):
    nameserver.set_replies(HOST, [PUBLIC])
    receiver.default_reply = Reply(307, {"Location": "http://169.254.169.254/latest/meta-data/"})
    assert post_to_host(receiver, HOST).status == 307
    assert internet.connected_addresses == [PUBLIC]
    assert receiver.requests[0].headers["Host"] == f"{HOST}:{receiver.port}"


def test_an_address_is_connected_without_dns(receiver, configure, internet):
    configure(dns_nameservers="127.0.0.1:1")
    assert post_to_host(receiver, PUBLIC).succeeded
    assert post_to_host(receiver, PUBLIC_IPV6).succeeded
    assert internet.connected_addresses == [PUBLIC, PUBLIC_IPV6]
    hosts = [request.headers["Host"] for request in receiver.requests]
    assert hosts == [f"{PUBLIC}:{receiver.port}", f"[{PUBLIC_IPV6}]:{receiver.port}"]


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.7", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::", "fd00:ec2::254"),  # noqa: S104
        *("::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1"),
    ],
)
def test_a_nonpublic_address_is_not_connected_with_or_without_a_name(address, receiver, nameserver, internet):
    nameserver.set_replies("inner.example", [address])
    for host in (address, "inner.example"):
        assert is_blocked(post_to_host(receiver, host))
    assert internet.connected_addresses == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "api.localhost", "0.0.0.0", "::ffff:127.0.0.1"])  # noqa: S104
def test_a_server_of_this_machine_receives_nothing(host, receiver):
    assert post_to_host(receiver, host).status is None
    assert (receiver.connection_count, receiver.requests) == (0, [])


def test_only_the_public_addresses_of_a_name_are_connected(receiver, nameserver, internet):
    nameserver.set_replies("mixed.example", [PRIVATE, PUBLIC, "fd00::7", PUBLIC_IPV6])
    internet.refusing_addresses = {PUBLIC}
    assert post_to_host(receiver, "mixed.example").succeeded
    assert internet.connected_addresses == [PUBLIC, PUBLIC_IPV6]


def test_a_name_is_resolved_and_checked_once_with_each_connection(receiver, nameserver, internet):
    nameserver.set_replies("rebinding.example", [PUBLIC], ["127.0.0.1"])
    assert [post_to_host(receiver, "rebinding.example").succeeded for _ in range(3)] == [True] * 3
    assert sorted(nameserver.questions) == [("rebinding.example", "A"), ("rebinding.example", "AAAA")]
    receiver.default_reply = Reply(raw_response=b"", closes_connection=True)
    assert is_blocked(post_to_host(receiver, "rebinding.example")), "the second connection of a request"
    nameserver.set_replies("closing.example", [PUBLIC], ["127.0.0.1"])
    receiver.default_reply = Reply(headers={"Connection": "close"})
    assert post_to_host(receiver, "closing.example").succeeded
    assert is_blocked(post_to_host(receiver, "closing.example")), "the connection of the second request"
    assert internet.connected_addresses == [PUBLIC] * 2


@pytest.mark.usefixtures("private_targets_allowed")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inner.example"])
def test_nonpublic_addresses_can_be_allowed(host, receiver, nameserver):
    nameserver.set_replies("inner.example", ["127.0.0.1"])
    assert post_to_host(receiver, host).succeeded


@pytest.mark.parametrize("host", ["broken.example", "xn--a..example", "-", "a" * 64, "a." * 300, "%31", "a_b"])
def test_a_name_that_cannot_be_resolved_is_described(host, receiver, nameserver):
    nameserver.set_replies("broken.example", "SERVFAIL")
    assert outcome_of(post_to_host(receiver, host)) == (None, "The name cannot be resolved.", False)


def test_a_silent_nameserver_is_awaited_within_the_connection_timeout(receiver, nameserver, monkeypatch):
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.3)
    nameserver.set_replies("silent.example", "SILENCE")
    response = post_to_host(receiver, "silent.example")
    assert outcome_of(response) == (None, "The name's DNS servers did not respond in time.", True)
    assert 300 <= response.duration_ms < 2_500


@pytest.fixture
def full_server():
    """Return the address of a loopback server whose backlog is full, so that connection attempts get no response."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.2", 0), backlog=0))
        for _ in range(8):
            pending = stack.enter_context(socket.socket())
            pending.settimeout(0)
            pending.connect_ex(listener.getsockname())
        yield listener.getsockname()


@pytest.mark.usefixtures("private_targets_allowed")
def test_an_unresponsive_address_is_awaited_within_the_connection_timeout(full_server, monkeypatch):
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.4)
    response = post_webhook("http://{}:{}/".format(*full_server), b"{}", {})
    assert outcome_of(response) == (None, "No connection was made within 0.4 s.", True)
    assert 400 <= response.duration_ms < 2_500


def test_the_remaining_time_is_shared_among_the_addresses(nameserver, monkeypatch):
    attempts = []

    def wait_for_timeout(address: tuple[str, int], timeout: float) -> Any:
        attempts.append((address[0], timeout))
        started_at = monotonic()
        while monotonic() < started_at + timeout:
            pass
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", wait_for_timeout)
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.6)
    monkeypatch.setattr(egress, "_MIN_ATTEMPT_SECONDS", 0.1)
    nameserver.set_replies("silent.example", [PUBLIC, SECOND_PUBLIC, PUBLIC_IPV6])
    response = post_webhook("http://silent.example/", b"{}", {})
    assert outcome_of(response) == (None, "No connection was made within 0.6 s.", True)
    assert {address for address, _ in attempts} == {PUBLIC, SECOND_PUBLIC, PUBLIC_IPV6}
    assert attempts[0][1] <= 0.2
    assert response.duration_ms < 2_500


@pytest.mark.usefixtures("private_targets_allowed")
def test_the_next_address_is_tried_after_a_silent_one(full_server, monkeypatch):
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 2.0)
    monkeypatch.setattr(egress, "_MIN_ATTEMPT_SECONDS", 0.2)
    monkeypatch.setattr(egress, "resolve_host", lambda _host, _until: ["127.0.0.2", "127.0.0.1"])
    with Receiver(port=full_server[1]) as receiver:
        response = post_to_host(receiver, "half.example")
    assert response.succeeded
    assert 1_000 <= response.duration_ms < 10_000


@pytest.mark.usefixtures("nameserver")
def test_an_unreachable_network_is_described(receiver, monkeypatch):
    def fail(*_: object, **_kwargs: object) -> Any:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", fail)
    assert outcome_of(post_to_host(receiver, PUBLIC_IPV6)) == (None, "The address cannot be reached.", False)

"""A request is connected to an address that was looked up once, and that may be reached; to nothing else."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

import pytest

from chalicelib.kernel.outbound import egress
from chalicelib.kernel.outbound.webhook_client import WebhookResponse, post_webhook
from tests.conftest import Configure
from tests.harness.nameserver import Failure, Nameserver
from tests.harness.receiver import Receiver, Reply

PUBLIC: Final = "93.184.216.34"
PUBLIC_TOO: Final = "93.184.216.35"
PUBLIC_IPV6: Final = "2606:4700::1111"
PRIVATE: Final = "10.0.0.7"

real_connection: Final = socket.create_connection


class Internet:
    """What lies behind every address: the one receiver, but for those addresses where nobody answers."""

    def __init__(self, receiver: Receiver) -> None:
        self.dialled: list[str] = []
        self.dead: set[str] = set()
        self._receiver = receiver

    def connect(self, address: tuple[str, int], timeout: float) -> socket.socket:
        """Stand in for `socket.create_connection`, which would leave the machine."""
        self.dialled.append(address[0])
        if address[0] in self.dead:
            raise ConnectionRefusedError
        assert 0 < timeout <= egress.CONNECT_SECONDS
        return real_connection(("127.0.0.1", self._receiver.port), timeout)


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    yield
    egress.reset_pool()


@pytest.fixture
def internet(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Internet:
    internet = Internet(receiver)
    monkeypatch.setattr(socket, "create_connection", internet.connect)
    return internet


@pytest.fixture
def private_allowed(configure: Configure) -> None:
    configure(webhook_allow_private="1")


def sent(receiver: Receiver, host: str) -> WebhookResponse:
    """Return what comes of a request to a host, by the name that it has."""
    return post_webhook(receiver.at(host, "/hooks"), b"{}", {})


def assert_blocked(answer: WebhookResponse) -> None:
    """Assert that nothing is told of an address that may not be reached, nor of what lies behind it."""
    assert (answer.status, answer.error, answer.body) == (None, "The host has no public address.", "")
    assert not answer.timed_out


def test_a_public_name_is_reached_by_its_address_and_asked_for_by_its_name(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("hooks.example", [PUBLIC])
    assert sent(receiver, "hooks.example").succeeded
    assert internet.dialled == [PUBLIC]
    assert receiver.requests[0].headers["Host"] == f"hooks.example:{receiver.port}"


def test_an_address_is_reached_as_it_is(receiver: Receiver, configure: Configure, internet: Internet) -> None:
    configure(dns_nameservers="127.0.0.1:1")
    assert sent(receiver, PUBLIC).succeeded
    assert sent(receiver, PUBLIC_IPV6).succeeded
    assert internet.dialled == [PUBLIC, PUBLIC_IPV6]
    hosts = [request.headers["Host"] for request in receiver.requests]
    assert hosts == [f"{PUBLIC}:{receiver.port}", f"[{PUBLIC_IPV6}]:{receiver.port}"]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.0.0.7",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "::1",
        "::",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fe80::1",
    ],
)
def test_an_address_that_is_not_public_is_not_connected_to(host: str, receiver: Receiver, internet: Internet) -> None:
    answer = sent(receiver, host)
    assert answer.error
    assert answer.error == "The host has no public address."
    assert (answer.status, answer.body) == (None, "")
    assert internet.dialled == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "api.localhost", "0.0.0.0", "::ffff:127.0.0.1"])  # noqa: S104
def test_a_server_of_this_machine_hears_nothing(host: str, receiver: Receiver) -> None:
    assert sent(receiver, host).status is None
    assert (receiver.connections, receiver.requests) == (0, [])


@pytest.mark.parametrize(
    "address", [PRIVATE, "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.7", "fd00:ec2::254"]
)
def test_a_name_of_an_address_that_is_not_public_is_not_connected_to(
    address: str, receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("inner.example", [address])
    answer = sent(receiver, "inner.example")
    assert_blocked(answer)
    assert internet.dialled == []


def test_of_several_addresses_only_the_public_ones_are_connected_to(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("mixed.example", [PRIVATE, PUBLIC, "fd00::7", PUBLIC_IPV6])
    internet.dead = {PUBLIC}
    assert sent(receiver, "mixed.example").succeeded
    assert internet.dialled == [PUBLIC, PUBLIC_IPV6]


def test_a_name_that_turns_private_after_the_check_was_looked_up_once(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("rebinding.example", [PUBLIC], ["127.0.0.1"])
    assert sent(receiver, "rebinding.example").succeeded
    assert internet.dialled == [PUBLIC]
    assert sorted(nameserver.questions) == [("rebinding.example", "A"), ("rebinding.example", "AAAA")]


def test_a_name_that_turns_private_is_checked_again_with_each_connection(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("rebinding.example", [PUBLIC], ["127.0.0.1"])
    receiver.answer = Reply(headers={"Connection": "close"})
    assert sent(receiver, "rebinding.example").succeeded
    assert_blocked(sent(receiver, "rebinding.example"))
    assert internet.dialled == [PUBLIC]


def test_a_name_that_turns_private_while_a_connection_is_kept_stays_where_it_was(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("rebinding.example", [PUBLIC], ["127.0.0.1"])
    assert [sent(receiver, "rebinding.example").succeeded for _ in range(3)] == [True] * 3
    assert internet.dialled == [PUBLIC]


def test_a_request_that_needs_a_second_connection_is_checked_again(
    receiver: Receiver, nameserver: Nameserver, internet: Internet
) -> None:
    nameserver.says("rebinding.example", [PUBLIC], ["127.0.0.1"])
    assert sent(receiver, "rebinding.example").succeeded
    receiver.answer = Reply(raw=b"", closes=True)
    assert_blocked(sent(receiver, "rebinding.example"))
    assert internet.dialled == [PUBLIC]


def test_no_redirect_leads_inside(receiver: Receiver, nameserver: Nameserver, internet: Internet) -> None:
    nameserver.says("hooks.example", [PUBLIC])
    receiver.answer = Reply(307, {"Location": "http://169.254.169.254/latest/meta-data/"})
    assert sent(receiver, "hooks.example").status == 307
    assert internet.dialled == [PUBLIC]


@pytest.mark.usefixtures("private_allowed")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inner.example"])
def test_addresses_that_are_not_public_can_be_allowed(host: str, receiver: Receiver, nameserver: Nameserver) -> None:
    nameserver.says("inner.example", ["127.0.0.1"])
    assert sent(receiver, host).succeeded


@pytest.mark.parametrize("failure", ["NXDOMAIN", "SERVFAIL", "REFUSED"])
def test_a_name_that_can_not_be_resolved(failure: Failure, receiver: Receiver, nameserver: Nameserver) -> None:
    nameserver.says("broken.example", failure)
    answer = sent(receiver, "broken.example")
    assert (answer.status, answer.error, answer.timed_out) == (None, "The name cannot be resolved.", False)


@pytest.mark.parametrize("host", ["xn--a..example", "-", "a" * 64, "a." * 300, "%31", "a_b"])
def test_a_host_that_never_was_a_target_does_no_harm(host: str, receiver: Receiver, nameserver: Nameserver) -> None:
    nameserver.says("hooks.example", [PUBLIC])
    assert sent(receiver, host).error == "The name cannot be resolved."


def test_a_silent_nameserver_takes_no_longer_than_a_connection_may(
    receiver: Receiver, nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.3)
    nameserver.says("silent.example", "SILENCE")
    answer = sent(receiver, "silent.example")
    assert (answer.status, answer.error, answer.timed_out) == (
        None,
        "The name's DNS servers did not respond in time.",
        True,
    )
    assert 300 <= answer.duration_ms < 2_500


@pytest.fixture
def full_house() -> Iterator[tuple[str, int]]:
    """A server on the loopback interface that takes no more connections, so that who asks for one hears nothing."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.2", 0), backlog=0))
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()


@pytest.mark.usefixtures("private_allowed")
def test_an_address_that_says_nothing_is_not_waited_for_long(
    full_house: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.4)
    answer = post_webhook("http://{}:{}/".format(*full_house), b"{}", {})
    assert (answer.status, answer.error, answer.timed_out) == (None, "No connection was made within 0.4 s.", True)
    assert 400 <= answer.duration_ms < 2_500


def test_what_is_left_of_the_time_is_shared_by_the_addresses(
    nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[tuple[str, float]] = []

    def silence(address: tuple[str, int], timeout: float) -> Any:
        spent.append((address[0], timeout))
        begun = monotonic()
        while monotonic() < begun + timeout:
            pass
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", silence)
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 0.6)
    monkeypatch.setattr(egress, "_MIN_ATTEMPT_SECONDS", 0.1)
    nameserver.says("silent.example", [PUBLIC, PUBLIC_TOO, PUBLIC_IPV6])
    answer = post_webhook("http://silent.example/", b"{}", {})
    assert (answer.error, answer.timed_out) == ("No connection was made within 0.6 s.", True)
    assert {address for address, _ in spent} == {PUBLIC, PUBLIC_TOO, PUBLIC_IPV6}
    assert spent[0][1] <= 0.2
    assert answer.duration_ms < 2_500


@pytest.mark.usefixtures("private_allowed")
def test_the_next_address_is_tried_when_one_says_nothing(
    full_house: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "CONNECT_SECONDS", 2.0)
    monkeypatch.setattr(egress, "_MIN_ATTEMPT_SECONDS", 0.2)
    monkeypatch.setattr(egress, "resolve_host", lambda _host, _until: ["127.0.0.2", "127.0.0.1"])
    with Receiver(port=full_house[1]) as receiver:
        answer = sent(receiver, "half.example")
    assert answer.succeeded
    assert 1_000 <= answer.duration_ms < 2_000


@pytest.mark.usefixtures("nameserver")
def test_a_network_that_is_not_there_is_said_in_words(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **_words: object) -> Any:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    answer = sent(receiver, PUBLIC_IPV6)
    assert (answer.status, answer.error, answer.timed_out) == (None, "The address cannot be reached.", False)

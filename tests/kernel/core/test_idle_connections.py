"""Connections that the other side has given up during a freeze are not used again."""

import socket
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest
from urllib3.exceptions import HTTPError

from chalicelib.features.research.logic import source_client
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.idle_connections import MAX_IDLE_SECONDS, IdleConnections
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import egress
from chalicelib.kernel.outbound.mail import Email, send_email
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.harness.threaded_servers import serve_in_thread

RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
"""`SO_LINGER` with a time of zero: closing the connection resets it."""


class ForgetfulServer(ThreadingHTTPServer):
    """A server behind a device that can forget connections: their next request is reset, and nothing says so before."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ForgetfulHandler)
        self.connections = self.forgotten = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def forget_connections(self) -> None:
        self.forgotten = self.connections


class ForgetfulHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ForgetfulServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self.number = self.server.connections

    def do_POST(self) -> None:
        if self.number <= self.server.forgotten:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.close_connection = True
            return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_GET(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server():
    server = ForgetfulServer()
    with serve_in_thread(server):
        yield server


@pytest.fixture
def aws_server(server, monkeypatch):
    """The server as the endpoint of AWS."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("MAIL_FROM", "atrium@example.com")
    settings.cache_clear()
    aws.reset_clients()
    yield server
    monkeypatch.undo()
    settings.cache_clear()
    aws.reset_clients()


CALLS: Final = {
    "sesv2": lambda client: client.send_email(Destination={"ToAddresses": ["a@example.com"]}, Content={}),
    "dynamodb": lambda client: client.get_item(TableName="t", Key={"pk": {"S": "a"}}),
    "sqs": lambda client: client.send_message(QueueUrl="http://127.0.0.1/q", MessageBody="a"),
    "s3": lambda client: client.get_object(Bucket="bucket", Key="a")["Body"].read(),
    "kms": lambda client: client.decrypt(CiphertextBlob=b"a"),
}


def mail_is_sent() -> bool:
    try:
        send_email("ada@example.com", Email("a", "b", "c"), attempts=1)
    except Exception:  # noqa: BLE001 - whatever the reason
        return False
    return True


def test_mail_after_a_freeze_uses_a_new_connection(aws_server, clock):
    assert mail_is_sent()
    assert mail_is_sent()
    assert aws_server.connections == 1
    aws_server.forget_connections()
    clock.shift(seconds=MAX_IDLE_SECONDS + 1)
    assert mail_is_sent()
    assert aws_server.connections == 2
    aws_server.forget_connections()
    clock.shift(seconds=MAX_IDLE_SECONDS - 1)
    assert not mail_is_sent()  # A shorter pause is no freeze. This shows that the server does reset connections.


@pytest.mark.parametrize("service", CALLS)
def test_every_aws_client_opens_new_connections_after_a_freeze(service, aws_server, clock):
    failures: list[object] = []
    client = aws.client(service)
    client.meta.events.register("needs-retry", lambda caught_exception, **_: failures.append(caught_exception))
    for _ in range(2):
        CALLS[service](client)
    assert aws_server.connections == 1
    aws_server.forget_connections()
    clock.shift(seconds=MAX_IDLE_SECONDS + 1)
    CALLS[service](client)
    assert (aws_server.connections, [*filter(None, failures)]) == (2, [])


def test_a_webhook_after_a_freeze_has_no_failed_attempt(server, clock, configure):
    configure(webhook_allow_private="1")
    egress.reset_pool()
    for _ in range(2):
        assert post_webhook(server.url, b"{}", {}).status == 200
    assert server.connections == 1
    server.forget_connections()
    clock.shift(seconds=MAX_IDLE_SECONDS + 1)
    response = post_webhook(server.url, b"{}", {})
    assert (response.status, response.earlier_attempts, server.connections) == (200, (), 2)


def test_a_source_after_a_freeze_is_asked_on_a_new_connection(server, clock):
    source_client.reset_connections()

    def status() -> int:
        response = source_client._connection_pool().request("GET", server.url, retries=False)  # noqa: SLF001
        return int(response.status)

    assert (status(), status(), server.connections) == (200, 200, 1)
    server.forget_connections()
    with pytest.raises(HTTPError):
        status()
    assert status() == 200
    server.forget_connections()
    clock.shift(seconds=MAX_IDLE_SECONDS + 1)
    assert (status(), server.connections) == (200, 3)
    source_client.reset_connections()


def test_only_an_idle_time_above_the_limit_closes_connections(clock):
    closed: list[bool] = []
    connections = IdleConnections(lambda: closed.append(True))
    for _ in range(3):
        clock.shift(seconds=MAX_IDLE_SECONDS - 1)
        connections.close_if_idle()
    assert not closed
    clock.shift(seconds=MAX_IDLE_SECONDS + 1)
    connections.close_if_idle()
    connections.close_if_idle()
    assert closed == [True]

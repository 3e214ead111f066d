"""The local server speaks HTTP/1.1 to whoever comes, and tells with a problem what the service never sees."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from socket import create_connection

import pytest
from chalice.config import Config

from chalicelib.kernel.http.request import EXPOSED_HEADERS
from infrastructure.gateway import PROBLEMS, headers_of
from local.paths import ROOT
from local.server.http_body import MAX_BODY_BYTES
from local.server.http_server import server_of
from local.server.run import free_port
from tests.harness.echo_app import echo
from tests.harness.threaded_servers import serve_in_thread

POST = "POST /echo HTTP/1.1\r\nHost: a\r\n"
GET = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of an app that says what it was sent."""
    server = server_of(echo, Config.create(chalice_app=echo), 0)
    with serve_in_thread(server.server):
        yield server.server.server_port


@pytest.fixture
def connection(port: int) -> Iterator[HTTPConnection]:
    """A connection that is kept from one request to the next."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        yield connection


def answer(port: int, text: str) -> str:
    """Return all that comes back until the server closes the connection."""
    with create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(text.encode("latin-1"))
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def problem(answered: str) -> tuple[int, str]:
    """Return status and code of an answer that is a problem, whole, and the last of its connection."""
    head, _, body = answered.partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    document = json.loads(body)
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Connection"] == "close"
    assert headers["Content-Length"] == str(len(body))
    assert headers["X-Request-Id"] == document["requestId"]
    assert head.startswith(f"HTTP/1.1 {document['status']} ")
    return document["status"], document["code"]


def test_requests_at_once_are_answered_each_with_its_own(port: int) -> None:
    def sent(body: str) -> str:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("POST", "/together", body=body)
            return connection.getresponse().read().decode()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(sent, ["one", "another"])) == ["<one>", "<another>"]


def test_head_is_answered_by_headers_alone_and_the_connection_goes_on(connection: HTTPConnection) -> None:
    connection.request("HEAD", "/echo")
    head = connection.getresponse()
    assert (head.status, head.headers["Allow"], head.read()) == (405, "GET, POST", b"")
    assert int(head.headers["Content-Length"]) > 0
    kept = connection.sock
    connection.request("GET", "/echo")
    assert connection.getresponse().read() == b"<>"
    assert connection.sock is kept


def test_what_has_no_body_says_nothing_of_its_length(connection: HTTPConnection) -> None:
    connection.request("GET", "/nothing")
    assert connection.getresponse().headers["Content-Length"] is None


@pytest.mark.parametrize("method", ["BREW", "TRACE", "PUT", "get"])
@pytest.mark.parametrize(("path", "code"), [("/echo", "method_not_allowed"), ("/gone", "not_found")])
def test_a_method_that_nobody_knows_is_refused_by_a_problem(
    connection: HTTPConnection, method: str, path: str, code: str
) -> None:
    connection.request(method, path, body=b"tea")
    refused = connection.getresponse()
    assert json.loads(refused.read())["code"] == code
    assert refused.headers["Content-Type"] == "application/problem+json"
    connection.request("GET", "/echo")
    assert connection.getresponse().read() == b"<>"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer \xe9"}])
def test_a_path_that_does_not_exist_is_answered_as_the_deployed_gateway_does(
    connection: HTTPConnection, headers: dict[str, str]
) -> None:
    connection.request("GET", "/gone?a=[b", headers=headers)
    refused = connection.getresponse()
    document, expected = json.loads(refused.read()), PROBLEMS["MISSING_AUTHENTICATION_TOKEN"]
    assert document == expected.document(instance="/gone", request_id=refused.headers["X-Request-Id"])
    assert headers_of(expected).items() <= dict(refused.headers).items()
    assert refused.headers["Access-Control-Expose-Headers"] == EXPOSED_HEADERS


def test_a_body_in_chunks_is_read_whole_and_the_next_request_after_it(connection: HTTPConnection) -> None:
    for body in (b"tea", b"", "é".encode() * 100_000):
        pieces = (body[n : n + 4093] for n in range(0, len(body), 4093))
        connection.request("POST", "/echo", body=pieces, headers={"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert connection.getresponse().read() == b"<" + body + b">"


@pytest.mark.parametrize("body", ["3;a=b\r\ntea\r\n0\r\n\r\n", "3 \r\ntea\r\n0\r\nA: b\r\n\r\n", "1\nt\n02\nea\n0\n\n"])
def test_extensions_and_trailers_of_chunks_are_passed_over(port: int, body: str) -> None:
    end = "GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n"
    answered = answer(port, CHUNKED + body + end)
    assert "<tea>" in answered
    assert answered.endswith("<>")


@pytest.mark.parametrize(
    "body", ["tea", "3\r\ntea", "3\r\nteapot\r\n0\r\n\r\n", "-3\r\ntea", "0x3\r\ntea\r\n", "\r\n", "g\r\n", "9" * 99]
)
def test_chunks_that_are_none_end_the_connection(port: int, body: str) -> None:
    with create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall((CHUNKED + body).encode())
        connection.shutdown(1)
        answered = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    assert problem(answered) == (400, "invalid_header")


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: tea\r\n",
        "Content-Length: -3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 3_0\r\n",
        "Content-Length: \r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        f"Content-Length: {'9' * 5000}\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
    ],
)
def test_a_length_that_can_not_be_told_ends_the_connection(port: int, headers: str) -> None:
    assert problem(answer(port, f"{POST}{headers}\r\n3\r\ntea\r\n0\r\n\r\n{GET}")) == (400, "invalid_header")


def test_a_body_over_the_gateways_limit_is_refused_and_the_client_hears_of_it(port: int) -> None:
    too_much = MAX_BODY_BYTES + 1
    declared = f"{POST}Content-Length: {too_much}\r\n\r\n{'x' * too_much}"
    chunk = f"{10_000:x}\r\n{'x' * 10_000}\r\n"
    for text in (declared, CHUNKED + chunk * 1001 + "0\r\n\r\n", f"{CHUNKED}ffffffff\r\n"):
        assert problem(answer(port, text)) == (413, "payload_too_large")


def test_the_largest_body_reaches_the_service(connection: HTTPConnection) -> None:
    connection.request("POST", "/echo", body=b"x" * MAX_BODY_BYTES)
    assert len(connection.getresponse().read()) == MAX_BODY_BYTES + 2


@pytest.mark.parametrize(
    "text",
    [
        "tea\r\n",
        "GET /echo HTTP/9.9\r\n\r\n",
        "GET /echo TEA/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        f"GET /{'x' * 70_000} HTTP/1.1\r\n\r\n",
        f"GET / HTTP/1.1\r\nA: {'x' * 70_000}\r\n\r\n",
        "GET / HTTP/1.1\r\n" + "A: b\r\n" * 200 + "\r\n",
    ],
    ids=["no request", "version", "protocol", "words", "long path", "long header", "many headers"],
)
def test_what_is_no_request_is_told_so_by_a_problem(port: int, text: str) -> None:
    assert problem(answer(port, text)) == (400, "invalid_header")


@pytest.mark.parametrize("text", [GET, "GET /a b HTTP/1.1\r\n\r\n"], ids=["request", "no request"])
def test_what_a_query_says_is_not_logged(port: int, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    method, path, rest = text.split(" ", 2)
    answer(port, f"{method} {path}?token=secret&decision=decline {rest[:-2]}Connection: close\r\n\r\n")
    (line, *_) = capfd.readouterr().err.splitlines()
    assert f"{method} {path}?…" in line
    assert "secret" not in line


def test_what_is_under_way_when_it_is_told_to_stop_is_answered_and_nothing_else() -> None:
    port = free_port()
    command = [sys.executable, "-m", "tests.harness.echo_app", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.readline()  # "Serving on": it listens, and knows what SIGTERM means.
    slow, idle = (HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(2))
    idle.request("GET", "/nothing")
    idle.getresponse().read()
    slow.request("GET", "/slow")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    with pytest.raises(ConnectionRefusedError):
        create_connection(("127.0.0.1", port))
    answered = slow.getresponse()
    assert (answered.read(), answered.headers["Connection"]) == (b"slept", "close")
    assert process.wait(timeout=5) == 0
    process.stdout.close()
    slow.close()
    idle.close()

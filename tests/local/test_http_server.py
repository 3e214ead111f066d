"""The local HTTP/1.1 server, which responds with a problem to requests that it does not pass to the service."""

import gzip
import json
import signal
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from select import select
from socket import SHUT_WR, create_connection

import pytest
from chalice.cli.factory import CLIFactory

from chalicelib.entrypoints.openapi.headers import RESPONSE_HEADERS
from chalicelib.kernel.http.request import EXPOSED_HEADERS, REMAPPED_WWW_AUTHENTICATE
from infrastructure.gateway import PROBLEMS, response_headers
from local.paths import ROOT
from local.server.gateway_headers import DROPPED_HEADERS, REMAPPED_HEADERS
from local.server.http_body import MAX_BODY_BYTES
from local.server.http_server import create_server
from local.server.run import free_port
from tests.harness.challenges import get_challenge
from tests.harness.echo_app import MIN_COMPRESSED_BYTES, echo, echo_config
from tests.harness.threaded_servers import serve_in_thread
from tests.harness.waiting import wait_until

POST = "POST /echo HTTP/1.1\r\nHost: a\r\n"
GET = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"
SCHEMES = ("Bearer", "Bearer \xe9", "Basic", "AWS4-HMAC-SHA256 Credential=a/b/c/execute-api/aws4_request, Signature=")
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def port():
    """The port of an app that returns the bodies of its requests."""
    server = create_server(echo, echo_config(), 0)
    with serve_in_thread(server.server):
        yield server.server.server_port


@pytest.fixture
def connection(port):
    """A persistent connection to the app."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        yield connection


def send_raw(port, request_text, *, is_complete=True):
    """Send a request as text, and return everything until the server closes the connection."""
    with create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request_text.encode("latin-1"))
        if not is_complete:
            connection.shutdown(SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def parse_problem(response_text):
    """Return the status and the code of a complete problem response that closes the connection."""
    head, _, body = response_text.partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    document = json.loads(body)
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Connection"] == "close"
    assert headers["Content-Length"] == str(len(body))
    assert headers["X-Request-Id"] == document["requestId"]
    assert head.startswith(f"HTTP/1.1 {document['status']} ")
    return document["status"], document["code"]


def test_concurrent_requests_get_their_own_responses(port):
    def post(body: str) -> str:
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("POST", "/together", body=body)
            return connection.getresponse().read().decode()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(post, ["one", "another"])) == ["<one>", "<another>"]


def test_a_head_response_has_no_body_and_keeps_the_connection(connection):
    connection.request("HEAD", "/echo")
    head_response = connection.getresponse()
    assert (head_response.status, head_response.headers["Allow"], head_response.read()) == (405, "GET, POST", b"")
    assert int(head_response.headers["Content-Length"]) > 0
    socket = connection.sock
    connection.request("GET", "/echo")
    assert connection.getresponse().read() == b"<>"
    assert connection.sock is socket
    connection.request("GET", "/nothing")  # a response without a body
    assert connection.getresponse().headers["Content-Length"] is None


@pytest.mark.parametrize("method", ["BREW", "TRACE", "PUT", "get"])
@pytest.mark.parametrize(("path", "code"), [("/echo", "method_not_allowed"), ("/gone", "no_such_route")])
def test_an_unknown_method_is_rejected_with_a_problem(connection, method, path, code):
    connection.request(method, path, body=b"tea")
    response = connection.getresponse()
    assert json.loads(response.read())["code"] == code
    assert response.headers["Content-Type"] == "application/problem+json"
    connection.request("GET", "/echo")
    assert connection.getresponse().read() == b"<>"


@pytest.mark.parametrize("headers", [{}, *({"Authorization": f"{scheme} x"} for scheme in SCHEMES)])
def test_a_missing_path_gets_the_response_of_the_deployed_gateway(connection, headers):
    connection.request("GET", "/gone?a=[b", headers=headers)
    response = connection.getresponse()
    document, expected = json.loads(response.read()), PROBLEMS["MISSING_AUTHENTICATION_TOKEN"]
    assert document == expected.document(instance="/gone", request_id=response.headers["X-Request-Id"])
    assert response_headers(expected).items() <= dict(response.headers).items()
    assert response.headers["Access-Control-Expose-Headers"] == EXPOSED_HEADERS


def test_headers_of_the_service_are_renamed_and_dropped_as_by_api_gateway(connection):
    connection.request("GET", "/remapped")
    response = connection.getresponse()
    assert (response.status, response.read()) == (401, b"")
    headers = {name.lower(): value for name, value in response.headers.items()}
    remapped = {"www-authenticate": "Bearer", "date": "today", "server": "echo"}
    assert {f"x-amzn-remapped-{name}": value for name, value in remapped.items()}.items() <= headers.items()
    assert headers["etag"] == "1"
    assert not {"www-authenticate", "transfer-encoding"} & headers.keys()
    assert (headers["date"] == "today", headers["server"] == "echo") == (False, False)
    assert get_challenge(response.headers) == "Bearer"


def test_the_service_documents_the_new_name_of_every_header_that_api_gateway_renames():
    documented = {name.lower() for name in RESPONSE_HEADERS}
    assert documented & REMAPPED_HEADERS == {"www-authenticate"}
    assert REMAPPED_WWW_AUTHENTICATE in RESPONSE_HEADERS
    assert not documented & DROPPED_HEADERS


def decompress(content: bytes, coding: str | None) -> bytes:
    match coding:
        case "gzip":
            return gzip.decompress(content)
        case "deflate":
            return zlib.decompress(content)
    return content


class TestCompression:
    def test_the_local_stage_compresses_from_the_same_size_on_as_deployed_stages(self):
        config = CLIFactory(str(ROOT)).create_config_obj("local")
        assert config.minimum_compression_size == MIN_COMPRESSED_BYTES

    @pytest.mark.parametrize(
        ("accept_encoding", "coding"),
        [
            ("gzip", "gzip"),
            ("GZIP;q=0.5, identity", "gzip"),
            ("br, deflate", "deflate"),
            ("gzip;q=0.1, deflate;q=0.2", "deflate"),
            ("gzip, deflate", "gzip"),
            ("gzip;q=0", None),
            ("identity", None),
            ("*", None),
            ("", None),
        ],
    )
    def test_a_response_is_compressed_by_a_coding_that_the_client_names(self, connection, accept_encoding, coding):
        sent = "é" * MIN_COMPRESSED_BYTES
        connection.request("POST", "/echo", body=sent.encode(), headers={"Accept-Encoding": accept_encoding})
        response = connection.getresponse()
        assert response.headers["Content-Encoding"] == coding
        content = response.read()
        assert response.headers["Content-Length"] == str(len(content))
        assert decompress(content, coding).decode() == f"<{sent}>"

    @pytest.mark.parametrize(("size", "coding"), [(MIN_COMPRESSED_BYTES - 1, None), (MIN_COMPRESSED_BYTES, "gzip")])
    def test_a_short_response_is_not_compressed(self, connection, size, coding):
        connection.request("POST", "/echo", body=b"x" * (size - 2), headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        assert len(decompress(response.read(), coding)) == size
        assert response.headers["Content-Encoding"] == coding

    def test_an_encoded_response_and_one_without_a_body_are_not_compressed(self, connection):
        for method, path, body in (("GET", "/encoded", b"x" * 2000), ("GET", "/nothing", b""), ("HEAD", "/large", b"")):
            connection.request(method, path, headers={"Accept-Encoding": "gzip"})
            response = connection.getresponse()
            assert response.read() == body
            assert response.headers["Content-Encoding"] == ("br" if path == "/encoded" else None)

    @pytest.mark.parametrize(
        ("coding", "body"),
        [
            ("gzip", gzip.compress("é".encode())),
            ("GZip", gzip.compress("é".encode())),
            ("deflate", zlib.compress("é".encode())),
            ("identity", "é".encode()),
        ],
        ids=["gzip", "upper case", "deflate", "identity"],
    )
    def test_a_request_is_decompressed(self, connection, coding, body):
        connection.request("POST", "/echo", body=body, headers={"Content-Encoding": coding})
        assert connection.getresponse().read().decode() == "<é>"

    def test_a_request_without_a_body_needs_no_decompression(self, connection):
        connection.request("GET", "/echo", headers={"Content-Encoding": "gzip"})
        assert connection.getresponse().read() == b"<>"

    @pytest.mark.parametrize(
        ("coding", "body", "expected"),
        [
            ("br", b"tea", (415, "unsupported_media_type")),
            ("gzip", b"tea", (415, "unsupported_media_type")),
            ("gzip", gzip.compress(b"tea")[:-1], (415, "unsupported_media_type")),
            ("gzip", gzip.compress(b"tea") + b"pot", (415, "unsupported_media_type")),
            ("gzip", zlib.compress(b"tea"), (415, "unsupported_media_type")),
            ("gzip", gzip.compress(b"x" * (MAX_BODY_BYTES + 1)), (413, "payload_too_large")),
        ],
        ids=["unknown", "plain", "truncated", "too long", "other", "bomb"],
    )
    def test_a_request_whose_body_cannot_be_decompressed_is_rejected(self, connection, coding, body, expected):
        connection.request("POST", "/echo", body=body, headers={"Content-Encoding": coding})
        document = json.loads(connection.getresponse().read())
        assert (document["status"], document["code"]) == expected


def test_the_lines_of_a_list_header_are_joined(port):
    lines = "Prefer: a\r\nX: 1\r\nprefer: b\r\nX: 2\r\nConnection: close\r\n"
    assert "<a, b|2>" in send_raw(port, f"GET /headers HTTP/1.1\r\n{lines}\r\n")


def test_a_chunked_body_is_read_completely_and_the_connection_stays_usable(connection):
    for body in (b"tea", b"", "é".encode() * 100_000):
        chunks = (body[n : n + 4093] for n in range(0, len(body), 4093))
        connection.request("POST", "/echo", body=chunks, headers={"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert connection.getresponse().read() == b"<" + body + b">"


@pytest.mark.parametrize("body", ["3;a=b\r\ntea\r\n0\r\n\r\n", "3 \r\ntea\r\n0\r\nA: b\r\n\r\n", "1\nt\n02\nea\n0\n\n"])
def test_chunk_extensions_and_trailers_are_ignored(port, body):
    last_request = "GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n"
    response_text = send_raw(port, CHUNKED + body + last_request)
    assert "<tea>" in response_text
    assert response_text.endswith("<>")


INVALID_CHUNKS = (
    "tea",
    "3\r\ntea",
    "3\r\nteapot\r\n0\r\n\r\n",
    "-3\r\ntea",
    "0x3\r\ntea\r\n",
    "\r\n",
    "g\r\n",
    "9" * 99,
)
INVALID_LENGTHS = ("tea", "-3", "+3", "3_0", "", "3, 3", "3\r\nContent-Length: 4", "9" * 5000)
AMBIGUOUS_BODIES = (
    *(f"Content-Length: {length}\r\n" for length in INVALID_LENGTHS),
    "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    *(f"Transfer-Encoding: {encoding}\r\n" for encoding in ("gzip, chunked", "identity")),
)
INVALID_HEADS = (
    "tea\r\n",
    *(
        f"GET {line}\r\n\r\n"
        for line in ("/echo HTTP/9.9", "/echo TEA/1.1", "/a b HTTP/1.1", f"/{'x' * 70_000} HTTP/1.1")
    ),
    *(f"GET / HTTP/1.1\r\n{lines}\r\n" for lines in (f"A: {'x' * 70_000}\r\n", "A: b\r\n" * 200)),
)


@pytest.mark.parametrize(
    "text",
    [
        *(CHUNKED + body for body in INVALID_CHUNKS),
        *(f"{POST}{headers}\r\n3\r\ntea\r\n0\r\n\r\n{GET}" for headers in AMBIGUOUS_BODIES),
        *INVALID_HEADS,
    ],
    ids=lambda text: ascii(text[:90]),
)
def test_an_invalid_request_closes_the_connection_after_a_problem(port, text):
    assert parse_problem(send_raw(port, text, is_complete=not text.startswith(CHUNKED))) == (400, "invalid_header")


def test_a_body_over_the_gateways_limit_is_rejected_after_it_was_sent(port):
    size = MAX_BODY_BYTES + 1
    with_content_length = f"{POST}Content-Length: {size}\r\n\r\n{'x' * size}"
    chunk = f"{10_000:x}\r\n{'x' * 10_000}\r\n"
    for request_text in (with_content_length, CHUNKED + chunk * 1001 + "0\r\n\r\n", f"{CHUNKED}ffffffff\r\n"):
        assert parse_problem(send_raw(port, request_text)) == (413, "payload_too_large")


def test_the_largest_body_reaches_the_service(connection):
    connection.request("POST", "/echo", body=b"x" * MAX_BODY_BYTES)
    assert len(connection.getresponse().read()) == MAX_BODY_BYTES + 2


@pytest.mark.parametrize("text", [GET, "GET /a b HTTP/1.1\r\n\r\n"], ids=["valid request", "invalid request"])
def test_query_strings_are_not_logged(port, text, capfd):
    method, path, rest = text.split(" ", 2)
    send_raw(port, f"{method} {path}?token=secret&decision=decline {rest[:-2]}Connection: close\r\n\r\n")
    (line, *_) = capfd.readouterr().err.splitlines()
    assert f"{method} {path}?…" in line
    assert "secret" not in line


def is_refused(port):
    try:
        create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_stop_completes_requests_in_progress_and_accepts_no_others():
    port = free_port()
    command = [sys.executable, "-m", "tests.harness.echo_app", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.readline()  # "Serving on": the server listens and handles SIGTERM.
    slow, idle = (HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(2))
    idle.request("GET", "/nothing")
    idle.getresponse().read()
    slow.request("GET", "/slow")
    assert process.stdout.readline() == b"in progress\n"
    process.send_signal(signal.SIGTERM)  # The main thread still starts the thread of the connection.
    wait_until(lambda: is_refused(port))
    assert select([slow.sock], [], [], 0)[0] == [], "the response is there already"
    response = slow.getresponse()
    assert (response.read(), response.headers["Connection"]) == (b"slept", "close")
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    slow.close()
    idle.close()

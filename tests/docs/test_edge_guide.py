"""The edges of `docs/guides/edge.md`: nginx and Cloudflare's Worker run as documented, and AWS knows the commands."""

import json
import re
import shlex
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import boto3
import pytest
from botocore.validate import validate_parameters
from trustme import CA

from chalicelib.kernel.http.client_address import VIEWER_ADDRESS_HEADER, edge_secret_digest
from infrastructure.__main__ import _parser
from infrastructure.edge import EDGE_REGION
from local.paths import ROOT
from local.tools.nginx import find_nginx
from local.tools.node import find_node
from tests.harness.edge_requests import HOSTILE_PATHS
from tests.harness.receiver import ReceivedRequest, Receiver, Reply
from tests.harness.waiting import wait_until
from tests.infrastructure.test_edge_function import build_request, decoded_query, run_function

GUIDE: Final = (ROOT / "docs/guides/edge.md").read_text()
NGINX_SCRIPT, WORKER = re.findall(r"^```js\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
(NGINX_CONFIGURATION,) = re.findall(r"^```nginx\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
AWS_COMMANDS: Final = re.findall(
    r"aws cloudfront ([a-z-]+) --cli-input-json '(\{.*?\})'$", GUIDE, re.DOTALL | re.MULTILINE
)
HOST: Final = "engines.sites.atrium.example.com"
API_HOST: Final = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
SECRET: Final = "0" * 64
PAGE: Final = Reply(
    headers={"Cache-Control": "public, max-age=60", "ETag": '"1"', "Vary": "Accept, Prefer, Accept-Encoding"},
    body=b"<p>Hello",
)
REFUSED_BY_NGINX: Final = ("/%zz", "/100%", "/%00", "/../secret", "/%2e%2e/secret")
"""Paths that nginx itself refuses with 400."""
MISLEADING: Final = {
    "Edge-Secret": "1" * 64,
    VIEWER_ADDRESS_HEADER: "192.0.2.1:1",
    "Authorization": "Bearer x",
    "Cookie": "session=x",
    "Accept": "application/json",
    "X-Forwarded-For": "192.0.2.1",
}


def forwarded_headers(request: ReceivedRequest) -> dict[str, str]:
    """Return the headers of a request to the API that concern it."""
    names = ("Host", "Accept", "Edge-Secret", VIEWER_ADDRESS_HEADER, "Authorization", "Cookie", "X-Forwarded-For")
    return {name: request.headers[name] for name in names if name in request.headers}


@dataclass(frozen=True)
class Nginx:
    """A running nginx with the documented configuration.

    `api`: the server behind it. `addresses`: the address and port of each visitor.
    """

    port: int
    api: Receiver
    trust: ssl.SSLContext
    addresses: list[str] = field(default_factory=list)

    def send(self, path: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, str]:
        """Send a request with exactly this path, and return the status and the whole response."""
        lines = {"Host": HOST, "Connection": "close"} | (headers or {})
        text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain,
            self.trust.wrap_socket(plain, server_hostname=HOST) as connection,
        ):
            self.addresses.append("{}:{}".format(*connection.getsockname()))
            connection.sendall(f"{text}\r\n".encode())
            response = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return int(response.split(" ", 2)[1]), response


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    folder, authority = tmp_path_factory.mktemp("nginx"), CA()
    api_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(API_HOST).configure_cert(api_tls)
    certificate = authority.issue_cert("*.sites.atrium.example.com")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    (folder / "tls").mkdir()
    certificate.private_key_pem.write_to_path(str(folder / "tls/sites.key"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "tls/sites.pem"))
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    (folder / "atrium.js").write_text(NGINX_SCRIPT)
    (folder / "edge-secret.conf").write_text(f'proxy_set_header Edge-Secret "{SECRET}";\n')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Receiver(tls=api_tls) as api:
        (folder / "nginx.conf").write_text(build_configuration(folder, port, api.port))
        command = [find_nginx(), "-e", str(folder / "errors.log"), "-c", str(folder / "nginx.conf")]
        with subprocess.Popen(command) as process:
            try:
                wait_until(lambda: accepts_connections(port) or process.poll() is not None)
                assert process.poll() is None, (folder / "errors.log").read_text()
                yield Nginx(port, api, trust)
            finally:
                process.terminate()


def build_configuration(folder: Path, port: int, api_port: int) -> str:
    """Return a whole configuration file with the documented part, and with the paths and ports of this test."""
    documented = NGINX_CONFIGURATION
    for text, replacement in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("    listen [::]:443 ssl;\n", ""),
        (f"server {API_HOST}:443;", f"server 127.0.0.1:{api_port};"),
        ("/etc/ssl/certs/ca-certificates.crt", str(folder / "authority.pem")),
        ("/etc/nginx/", f"{folder}/"),
        ("/var/cache/nginx/", f"{folder}/cache/"),
    ):
        assert text in documented
        documented = documented.replace(text, replacement)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "cache").mkdir()
    return (
        f"daemon off; master_process off; pid {folder}/nginx.pid; events {{}}"
        f" http {{ access_log off; {paths}\n{documented}\n}}"
    )


def accepts_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def api_requests(nginx):
    """The requests that the API has received from nginx in this test. It answers a page."""
    nginx.api.default_reply = PAGE
    nginx.api.requests.clear()
    return nginx.api.requests


class TestNginx:
    def test_it_requests_what_the_cloudfront_function_requests(self, nginx, api_requests):
        for path, request in zip(HOSTILE_PATHS, run_function(*map(build_request, HOSTILE_PATHS)), strict=True):
            api_requests.clear()
            status, _ = nginx.send(path)
            if path in REFUSED_BY_NGINX:
                assert (status, api_requests) == (400, []), path
                continue
            url = urlsplit(api_requests[0].path)
            assert (status, url.path) == (200, f"/prod{request['uri']}"), path
            assert parse_qsl(url.query, strict_parsing=True) == decoded_query(request)

    @pytest.mark.parametrize(
        ("url", "page"),
        [("/sitemap.xml?page=2&x=1", "2"), ("/sitemap.xml?page=2%26host=x", None), ("/mills?page=2", None)],
    )
    def test_only_the_number_of_a_part_of_the_sitemap_is_kept_of_the_query(self, url, page, nginx, api_requests):
        nginx.send(url)
        query = dict(parse_qsl(urlsplit(api_requests[0].path).query))
        assert query == {"host": HOST, "path": url.partition("?")[0]} | ({"page": page} if page else {})

    def test_the_api_gets_the_visitors_address_and_the_secret_but_no_header_of_the_visitor(self, nginx, api_requests):
        nginx.send("/headers", headers=MISLEADING)
        expected = {"Host": API_HOST, "Accept": "text/html", "Edge-Secret": SECRET}
        assert forwarded_headers(api_requests[0]) == expected | {VIEWER_ADDRESS_HEADER: nginx.addresses[-1]}

    def test_a_page_is_cached_for_all_visitors_and_a_head_request_gets_its_headers(self, nginx, api_requests):
        responses = [nginx.send("/cached", headers={"Accept": accept}) for accept in ("text/html", "*/*")]
        status, head = nginx.send("/cached", method="HEAD")
        assert [status for status, _ in responses] == [status] * 2 == [200] * 2
        assert [request.method for request in api_requests] == ["GET"]
        assert all(text.endswith("<p>Hello") and 'ETag: "1"' in text for _, text in responses)
        assert head.endswith("\r\n\r\n")
        assert "Strict-Transport-Security: max-age=31536000" in head

    def test_redirects_pass_unchanged_and_other_methods_are_refused(self, nginx, api_requests):
        nginx.api.default_reply = Reply(308, {"Location": "/looms"})
        status, text = nginx.send("/Looms-")
        assert (status, "\r\nLocation: /looms\r\n" in text) == (308, True)
        count = len(api_requests)
        assert [nginx.send("/", method=method)[0] for method in ("POST", "DELETE", "OPTIONS")] == [405] * 3
        assert len(api_requests) == count


RUN_WORKER: Final = """
const worker = (await import(process.argv[1])).default;
const { visits, reply } = JSON.parse((await import('node:fs')).readFileSync(0));
const env = { PUBLIC_URL: 'https://api.example.com', EDGE_SECRET: '0'.repeat(64) };
const results = [];
for (const { url, method, headers } of visits) {
  const requests = [];
  globalThis.fetch = async (address, options) => {
    requests.push({ address, ...options });
    return new Response(reply.body, { status: reply.status, headers: reply.headers });
  };
  const response = await worker.fetch(new Request(url, { method, headers }), env);
  results.push({
    requests, status: response.status, location: response.headers.get('location'), body: await response.text(),
  });
}
process.stdout.write(JSON.stringify(results));
"""


@pytest.fixture
def run_worker(tmp_path):
    """A function that runs the Worker for visits of an URL, and returns its requests and responses."""
    (tmp_path / "worker.mjs").write_text(WORKER)

    def run(*visits: dict[str, Any], **reply: Any) -> list[dict[str, Any]]:
        command = [find_node().program, "--input-type=module", "--eval", RUN_WORKER, str(tmp_path / "worker.mjs")]
        defaults = {"method": "GET", "headers": {"CF-Connecting-IP": "2001:db8::7"}}
        answer = {"status": 200, "headers": {}, "body": "<p>Hello", **reply}
        data = json.dumps({"visits": [defaults | visit for visit in visits], "reply": answer})
        completed = subprocess.run(command, input=data, capture_output=True, text=True, check=True)
        results: list[dict[str, Any]] = json.loads(completed.stdout)
        return results

    return run


class TestWorker:
    def test_it_requests_what_the_cloudfront_function_requests_of_the_url_as_browsers_send_it(self, run_worker):
        paths = [path for path in HOSTILE_PATHS if not re.search(r"\.\.|%2e", path)]  # Which browsers resolve.
        for path, result in zip(paths, run_worker(*({"url": f"https://{HOST}{path}"} for path in paths)), strict=True):
            (request,) = result["requests"]
            sent_path = urlsplit(request["address"]).path
            query = parse_qsl(urlsplit(request["address"]).query, strict_parsing=True)
            as_browsers_send_it = path.translate({ord(c): f"%{ord(c):02X}" for c in '"<>`{}'})
            (expected,) = run_function(build_request(as_browsers_send_it))
            assert (sent_path, query) == ("/sites/resolve", decoded_query(expected)), path

    def test_the_api_gets_the_visitors_address_and_the_secret_but_no_header_of_the_visitor(self, run_worker):
        visit = {"url": f"https://{HOST}/", "headers": {**MISLEADING, "CF-Connecting-IP": "2001:db8::7"}}
        ((request,),) = [result["requests"] for result in run_worker(visit)]
        expected = {"Accept": "text/html", "Edge-Secret": SECRET, VIEWER_ADDRESS_HEADER: "2001:db8::7:0"}
        assert (request["headers"], request["cf"]) == (expected, {"cacheEverything": True})

    def test_redirects_pass_unchanged_head_has_no_body_and_other_methods_are_refused(self, run_worker):
        url = f"https://{HOST}/Looms"
        visits = [{"url": url}, {"url": url, "method": "HEAD"}, {"url": url, "method": "POST"}]
        get, head, post = run_worker(*visits, status=308, headers={"Location": "/looms"})
        assert (get["status"], get["location"], get["requests"][0]["redirect"]) == (308, "/looms", "manual")
        assert (head["status"], head["body"]) == (308, "")
        assert (post["status"], post["requests"]) == (405, [])

    def test_only_the_number_of_a_part_of_the_sitemap_is_kept_of_the_query(self, run_worker):
        urls = [f"https://{HOST}/sitemap.xml?page=2&x=1", f"https://{HOST}/looms?page=2"]
        queries = [
            dict(parse_qsl(urlsplit(result["requests"][0]["address"]).query))
            for result in run_worker(*({"url": url} for url in urls))
        ]
        assert [query.get("page") for query in queries] == ["2", None]


def test_aws_knows_the_commands_for_custom_domains():
    model = boto3.client("cloudfront", region_name="us-east-1").meta.service_model
    operations = {name: "".join(word.title() for word in name.split("-")) for name, _ in AWS_COMMANDS}
    assert [*operations] == [
        *("create-distribution-tenant", "get-managed-certificate-details", "verify-dns-configuration"),
        *("update-distribution-tenant", "delete-distribution-tenant"),
    ]
    for name, body in AWS_COMMANDS:
        validate_parameters(json.loads(body), model.operation_model(operations[name]).input_shape)


def test_the_removal_is_known_to_cloudformation_and_names_the_stack_in_its_region():
    model = boto3.client("cloudformation", region_name=EDGE_REGION).meta.service_model
    stack = {"StackName": "atrium-prod-edge"}
    expected: dict[str, dict[str, Any]] = {
        "update-termination-protection": {"EnableTerminationProtection": False, **stack},
        "delete-stack": stack,
    }
    commands = re.findall(r"aws cloudformation (\S+)((?:[^\\\n]|\\\n)+)", GUIDE)
    assert [name for name, _ in commands] == [*expected]
    for name, options in commands:
        words = shlex.split(options.replace("\\\n", " "))
        protected = (
            [] if "EnableTerminationProtection" not in expected[name] else ["--no-enable-termination-protection"]
        )
        assert words == [*protected, "--stack-name", "atrium-prod-edge", "--region", EDGE_REGION]
        operation = "".join(word.title() for word in name.split("-"))
        validate_parameters(expected[name], model.operation_model(operation).input_shape)


def test_the_documented_digest_of_a_secret_is_the_one_that_the_service_compares():
    (command,) = re.findall(r"`(printf %s SECRET [^`]+)`", GUIDE)
    digest = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    assert digest == edge_secret_digest("SECRET")


def test_make_knows_the_commands_and_arguments():
    commands = re.findall(r"^    make (edge.*)$", GUIDE, re.MULTILINE)
    assert commands == ["edge STAGE=prod", "edge STAGE=prod CUSTOM_DOMAINS=1"]
    custom_domains = {"edge STAGE=prod CUSTOM_DOMAINS=1": True, "edge STAGE=prod CUSTOM_DOMAINS=0": False}
    for command in (*commands, "edge-secret STAGE=prod", *custom_domains):
        make = ["make", "-n", "PYTHON=python", *shlex.split(command)]
        recipe = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        arguments = shlex.split(recipe.replace("\\\n", " ").partition("-m infrastructure ")[2])
        parsed = _parser().parse_args(arguments)
        assert (parsed.stage, getattr(parsed, "custom_domains", None)) == ("prod", custom_domains.get(command))

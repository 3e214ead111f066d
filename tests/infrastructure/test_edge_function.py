"""The CloudFront function of the edge, run in Node: it maps a visitor's request to one of the service."""

import json
import subprocess
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import pytest

from infrastructure.edge_template import FUNCTION_FILE
from local.tools.node import find_node
from tests.harness.edge_requests import HOSTILE_PATHS
from tests.harness.sites import create_published_page, create_site

HOST: Final = "engines.sites.atrium.example.com"
RUN: Final = """
const results = JSON.parse(require('fs').readFileSync(0)).map((request) => handler({ version: '1.0', request }));
process.stdout.write(JSON.stringify(results));
"""


def run_function(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the function for requests, and return its results."""
    code = FUNCTION_FILE.read_text() + RUN
    command = [find_node().program, "--eval", code]
    completed = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=True)
    results: list[dict[str, Any]] = json.loads(completed.stdout)
    return results


def build_request(uri: str = "/", *, method: str = "GET", host: str | None = HOST, **query: str) -> dict[str, Any]:
    headers = {"accept": {"value": "*/*"}, "user-agent": {"value": "curl"}}
    return {
        "method": method,
        "uri": uri,
        "querystring": {name: {"value": value} for name, value in query.items()},
        "headers": headers | ({} if host is None else {"host": {"value": host}}),
        "cookies": {},
    }


def decoded_query(request):
    """Return the query of a request as API Gateway decodes it."""
    text = "&".join(f"{name}={parameter['value']}" for name, parameter in request["querystring"].items())
    return parse_qsl(text, strict_parsing=True)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_visit_becomes_a_request_for_its_host_and_path_as_html(method):
    visit = build_request("/looms", method=method, utm_source="mail", host_="evil", path="/evil", token="secret")
    (request,) = run_function(visit)
    assert (request["method"], request["uri"]) == (method, "/sites/resolve")
    assert decoded_query(request) == [("host", HOST), ("path", "/looms")]
    assert request["headers"] == visit["headers"] | {"accept": {"value": "text/html"}}


def test_every_path_reaches_the_service_as_the_visitor_sent_it_and_adds_no_parameters():
    for path, request in zip(HOSTILE_PATHS, run_function(*map(build_request, HOSTILE_PATHS)), strict=True):
        assert request["uri"] == "/sites/resolve", path
        assert decoded_query(request) == [("host", HOST), ("path", path)]
        assert not set(str(request["querystring"]["path"]["value"])) & set("&?#+;= \n\\é😀")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Engines.Sites.Atrium.Example.COM", HOST),
        (f"{HOST}:443", HOST),
        (f"{HOST}.", HOST),
        (f"{HOST}.:8443", HOST),
        ("xn--bcher-kva.example.com", "xn--bcher-kva.example.com"),
        *(
            (host, None)
            for host in (None, "", ".", "a b", "a/b", "a&path=/b", "bücher.example.com", "[::1]", "a%00", "a@b")
        ),
        *((host, None) for host in ("x" * 254, "a\r\nb", "a:b:443")),
    ],
)
def test_a_host_is_normalized_or_refused(host, name):
    (result,) = run_function(build_request(host=host))
    if name is None:
        assert result["statusCode"] == 400
    else:
        assert decoded_query(result)[0] == ("host", name)


@pytest.mark.parametrize(
    ("path", "query", "forwarded"),
    [
        ("/sitemap.xml", {"page": "2"}, True),
        *(("/sitemap.xml", {"page": page}, False) for page in ("0", "-1", "1e3", "2%26host=x", "", "123456", "٣")),
        ("/sitemap.xml", {"Page": "2", "limit": "9"}, False),
        ("/Sitemap.xml", {"page": "2"}, False),
        ("/robots.txt", {"page": "2"}, False),
    ],
)
def test_only_the_number_of_a_part_of_the_sitemap_is_kept_of_the_query(path, query, forwarded):
    (request,) = run_function(build_request(path, **query))
    expected = [("host", HOST), ("path", path), *([("page", query["page"])] if forwarded else [])]
    assert decoded_query(request) == expected


def test_a_repeated_part_of_the_sitemap_is_dropped():
    visit = build_request("/sitemap.xml")
    visit["querystring"]["page"] = {"value": "1", "multiValue": [{"value": "1"}, {"value": "2"}]}
    assert decoded_query(run_function(visit)[0]) == [("host", HOST), ("path", "/sitemap.xml")]


@pytest.mark.parametrize(
    ("visit", "status"),
    [
        *((build_request(method=method), 405) for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")),
        (build_request("/" + "x" * 2000), 414),
        (build_request("/\ud800"), 400),
    ],
)
def test_a_request_that_no_site_answers_is_refused_and_not_cached(visit, status):
    (response,) = run_function(visit)
    assert response["statusCode"] == status
    assert response["headers"]["cache-control"] == {"value": "no-store"}
    assert ("allow" in response["headers"]) is (status == 405)


def test_the_service_answers_what_the_function_requests(api, organization):
    site = create_site(api, organization)
    for title in ("Welcome", "Looms"):
        create_published_page(api, site, title)
    host = site.record["host"]
    for path, text in (("/", "Welcome"), ("/looms", "Looms"), ("/l%6foms", "Looms")):
        (request,) = run_function(build_request(path, host=f"{host.upper()}:443", utm_source="mail"))
        headers = {"Accept": request["headers"]["accept"]["value"]}
        answer = api.get(f"{request['uri']}?{urlencode(decoded_query(request))}", headers=headers).expect(200)
        assert text in answer.text
        assert answer.headers["Cache-Control"] == "public, max-age=60"


def test_the_function_fits_the_limits_of_cloudfront_and_of_the_service(api):
    assert len(FUNCTION_FILE.read_bytes()) < 10_000
    assert len(json.dumps(run_function(build_request("/" + "%" * 1999)))) < 8_192
    assert api.get("/sites/resolve", query={"host": HOST, "path": "/" + "x" * 1999}).status == 404
    assert api.get("/sites/resolve", query={"host": HOST, "path": "/" + "x" * 2000}).errors == {
        "query/path": "too_long"
    }

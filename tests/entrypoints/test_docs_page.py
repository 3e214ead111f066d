"""The documentation page, over HTTP and in a browser, under the path of an API Gateway stage."""

import functools
import json
import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import pytest
from chalice.app import Request, Response
from chalice.config import Config
from chalice.local import LocalDevServer
from chalice.test import Client
from playwright.sync_api import Browser, Locator, Page, expect

from chalicelib.entrypoints.catalogue import all_operations, event_names
from local.generators.verifier_program import verifier_program
from local.paths import ROOT
from local.server.http_server import Handler, create_server
from tests.harness import memory_aws
from tests.harness.browser import LoggedPage, content_width
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.threaded_servers import serve_in_thread
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")

STAGE = "/api"
LINK: Final = "#/organizations/verify_audit_integrity"

# The library stops scrolling to an operation after five seconds on this clock, as on a device that renders slowly.
_SLOW_DEVICE: Final = """
let elapsed = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + (elapsed += 6000);
"""


@dataclass
class RunningService:
    """The running service, and the requests that it received: path with query, and headers with names in lower case."""

    url: str
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class StageHandler(Handler):
    """The local server with the stage in each path, as on API Gateway."""

    path: str

    def __init__(self, *arguments: Any, served: RunningService, **options: Any) -> None:
        self.served = served
        super().__init__(*arguments, **options)

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        self.served.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.path = self.path.removeprefix(STAGE) if self.path.startswith(STAGE) else "/outside-of-the-stage"
        return True

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def served(_aws_in_memory: None) -> Iterator[RunningService]:
    """The app on a local port, with an in-memory AWS."""
    memory_aws.reset()
    server, service = _create_server()
    with serve_in_thread(server.server):
        yield service


def _create_server() -> tuple[LocalDevServer, RunningService]:
    app = runpy.run_path(str(ROOT / "app.py"))["app"]
    app.register_middleware(_add_stage_to_path, "http")
    server = create_server(app, Config(), 0)
    service = RunningService(f"http://127.0.0.1:{server.server.server_port}{STAGE}")
    handler = functools.partial(StageHandler, served=service, app_object=app, config=Config())
    server.server.RequestHandlerClass = handler
    return server, service


def _add_stage_to_path(request: Request, respond: Callable[[Request], Response]) -> Response:
    """Set the path in the request's context as API Gateway does, including the stage."""
    request.context["path"] = STAGE + request.context["path"]
    return respond(request)


@pytest.fixture(scope="module")
def open_page(served: RunningService, browser: Browser) -> Iterator[Callable[..., LoggedPage]]:
    """A function that opens the page with a few operations. The browser takes seconds to show all of them."""
    document = _shorten_document(json.loads((ROOT / "openapi.json").read_bytes()))
    with ExitStack() as opened_pages:

        def open_page(width: int) -> LoggedPage:
            opened = opened_pages.enter_context(LoggedPage(browser, width=width))
            opened.page.route("**/openapi.json", lambda route: route.fulfill(json=document))
            opened.page.goto(f"{served.url}/docs")
            opened.page.locator(".opblock").first.wait_for()
            return opened

        yield open_page


def _shorten_document(document: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI document with a few operations and what they refer to."""
    names = ("get_status", "list_organizations", "create_organization", "verify_audit_integrity", "rotate_api_key")
    paths = {
        path: {method: operation for method, operation in item.items() if operation.get("operationId") in names}
        for path, item in document["paths"].items()
    }
    short = {**document, "webhooks": {}, "paths": {path: item for path, item in paths.items() if item}}
    short["components"] = {"securitySchemes": document["components"]["securitySchemes"]}
    while missing := {
        (kind, name)
        for kind, name in re.findall('"#/components/([^/"]+)/([^"]+)"', json.dumps(short))
        if name not in short["components"].get(kind, {})
    }:
        for kind, name in missing:
            short["components"].setdefault(kind, {})[name] = document["components"][kind][name]
    return short


@pytest.fixture(scope="module")
def opened(open_page: Callable[..., LoggedPage]) -> LoggedPage:
    """The page with a few operations, on a desktop. All tests that do not need a page of their own share it."""
    return open_page(1280)


@pytest.fixture
def page(opened: LoggedPage, served: RunningService) -> Iterator[Page]:
    """The shared page, with light colours. A test fails if the browser logs an error in it."""
    opened.page.emulate_media(color_scheme="light")
    served.requests.clear()
    yield opened.page
    assert opened.read_messages() == []


def _expand(page: Page, operation_id: str) -> Locator:
    """Expand an operation, and return its block."""
    block = page.locator(f"[id$='-{operation_id}'].opblock")
    if not block.locator(".responses-wrapper").count():
        block.locator(".opblock-summary-control").dispatch_event("click")
        block.locator(".responses-wrapper").wait_for()
    return block


def _execute(page: Page, operation_id: str) -> tuple[str, dict[str, Any]]:
    """Try out an operation, and return the status and body that the page shows."""
    block = _expand(page, operation_id)
    block.locator(".try-out__btn").dispatch_event("click")
    block.locator(".execute").dispatch_event("click")
    response = block.locator(".live-responses-table .response")
    status = response.locator(".response-col_status").inner_text()
    return status.split()[0], json.loads(response.locator(".response-col_description pre").first.text_content() or "")


def _lightness(page: Page, selector: str, property_name: str) -> float:
    """Return the lightness of a colour property of an element, from 0 to 255."""
    color = page.locator(selector).first.evaluate("(element, name) => getComputedStyle(element)[name]", property_name)
    return sum(float(part) for part in re.findall(r"[\d.]+", color)[:3]) / 3


def test_a_link_opens_its_operation_among_all_operations_and_events(served, browser):
    expected_paths = {operation.path for operation in all_operations()} | set(event_names())
    with LoggedPage(browser, width=390) as phone:
        page = phone.page
        page.add_init_script(_SLOW_DEVICE)
        page.goto(f"{served.url}/docs/?from=elsewhere{LINK}", wait_until="commit")
        page.locator(".opblock.is-open .responses-wrapper").wait_for()
        assert page.url == f"{served.url}/docs?from=elsewhere{LINK}"  # The slash after /docs makes no difference.
        link = page.locator(".info a[href$='verify.py']").evaluate("link => link.href")
        assert link == f"{served.url}/docs/verify.py"
        (block_id,) = page.locator(".opblock.is-open").evaluate_all("blocks => blocks.map(block => block.id)")
        assert block_id.endswith("-verify_audit_integrity")
        top = "Math.abs(document.querySelector('.opblock.is-open').getBoundingClientRect().top)"
        wait_until(lambda: page.evaluate(top) < 200)

        # The page renders what is in view. In such a high window, that is everything.
        page.set_viewport_size({"width": 390, "height": 40_000})
        expect(page.locator(".opblock")).to_have_count(len(all_operations()) + len(event_names()), timeout=300_000)
        shown_paths = page.locator(".opblock-summary-path").evaluate_all("paths => paths.map(p => p.dataset.path)")
        assert set(shown_paths) == expected_paths
        assert content_width(page) <= 390
        foreign_urls = [u for u in phone.requested_urls if not u.startswith((f"{served.url}/", "data:", "about:"))]
        assert foreign_urls == []
        assert f"{served.url}/openapi.json" in phone.requested_urls
        assert phone.read_messages() == []


def test_the_page_has_a_title_language_and_description(page):
    assert page.title() == "Atrium API reference"
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("meta[name=description]").get_attribute("content")


def test_the_page_cannot_send_requests_to_another_host(page, opened, served):
    other_url = served.url.replace("127.0.0.1", "localhost")
    script = "url => fetch(url).then(() => 'sent', () => 'refused')"
    assert page.evaluate(script, f"{other_url}/status") == "refused"
    assert f"{STAGE}/status" not in [path for path, _ in served.requests]
    messages = opened.read_messages()
    assert messages
    assert all("Content Security Policy" in message for message in messages)


def test_the_page_follows_the_preferred_colours(page):
    for scheme, is_light in (("light", True), ("dark", False), ("light", True)):
        page.emulate_media(color_scheme=scheme)
        page.locator("html:not(.dark-mode)" if is_light else "html.dark-mode").wait_for()
        assert (_lightness(page, "html", "backgroundColor") > 128) == is_light
        for selector in ("body > header .name", ".opblock-summary-path", ".opblock-summary-description", ".info p"):
            assert (_lightness(page, selector, "color") < 128) == is_light, (scheme, selector)


def test_an_operation_can_be_tried_out(page, served):
    status, body = _execute(page, "get_status")
    assert (status, body["status"]) == ("200", "ok")
    path, headers = served.requests[-1]
    assert path == f"{STAGE}/status"
    assert "authorization" not in headers


def test_the_introduction_links_to_the_offline_verifier(page, served):
    link = page.locator(".info a[href$='verify.py']").evaluate("link => link.href")
    assert link == f"{served.url}/docs/verify.py"
    response = httpx.get(link)
    assert response.headers["content-type"] == "text/x-python; charset=utf-8"
    assert response.text == verifier_program()


def test_an_expanded_operation_has_a_link(page, served):
    _expand(page, "verify_audit_integrity")
    assert page.url == f"{served.url}/docs{LINK}"


def test_a_phone_needs_no_horizontal_scrolling(open_page):
    phone = open_page(390)
    page = phone.page
    assert content_width(page) <= 390
    for operation_id in ("create_organization", "verify_audit_integrity", "rotate_api_key"):
        _expand(page, operation_id)
        assert content_width(page) <= 390, operation_id
    page.locator(".btn.authorize").dispatch_event("click")
    dialog = page.locator(".modal-ux").bounding_box()
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 390
    assert content_width(page) <= 390
    assert phone.read_messages() == []


def test_a_credential_is_sent_only_with_operations_that_are_tried_out_and_is_not_stored(open_page, served):
    opened = open_page(1280)
    page = opened.page
    served.requests.clear()
    page.locator(".btn.authorize").dispatch_event("click")
    page.locator(".modal-ux input").first.fill("a-token-of-mine")
    page.locator(".modal-ux .btn.modal-btn.authorize").first.dispatch_event("click")
    page.locator(".modal-ux .btn-done").first.dispatch_event("click")
    status, problem = _execute(page, "list_organizations")
    assert (status, problem["code"]) == ("401", "unauthenticated")
    paths_with_credential = [path for path, headers in served.requests if "authorization" in headers]
    assert [path.partition("?")[0] for path in paths_with_credential] == [f"{STAGE}/organizations"]
    assert served.requests[-1][1]["authorization"] == "Bearer a-token-of-mine"
    messages = opened.read_messages()
    assert [message.rpartition("status of ")[2] for message in messages] == ["401 (Unauthorized)"]
    page.reload()
    page.locator(".opblock").first.wait_for()
    assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    assert opened.read_messages() == []


def test_the_content_security_policy_admits_only_the_assets_of_the_page(served):
    response = httpx.get(f"{served.url}/docs")
    assert response.text == httpx.get(f"{served.url}/docs/").text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", response.text)
    urls = re.findall(r'(?:href|src)="([^"]*)"', response.text)
    assert len(urls) > 5
    assert not [url for url in urls if not url.startswith(f"{STAGE}/")]
    assert "$" not in response.text


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_without_a_stage_urls_start_at_the_root(path, configure):
    configure(**PLACEHOLDER_KEY_SETTINGS)  # Chalice's client uses the stage `dev`.
    app = runpy.run_path(str(ROOT / "app.py"))["app"]
    urls = re.findall(rb'(?:href|src)="([^"]*)"', Client(app).http.get(path).body)
    assert {b"/docs", b"/openapi.json", b"/status"} <= set(urls)
    assert not [url for url in urls if not re.match(rb"/[a-z]", url)]


def test_versioned_assets_are_cached_permanently_and_unversioned_ones_are_revalidated(served):
    urls = set(re.findall(rf'"{STAGE}/(docs/[^"]*)"', httpx.get(f"{served.url}/docs").text))
    assert len(urls) == 5
    for url in urls:
        response = httpx.get(f"{served.url}/{url}")
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers["x-content-type-options"] == "nosniff"
        revalidation = httpx.get(f"{served.url}/{url}", headers={"If-None-Match": response.headers["etag"]})
        assert (revalidation.status_code, revalidation.content) == (304, b"")
        unversioned = httpx.get(f"{served.url}/{url.partition('?')[0]}")
        assert unversioned.headers["cache-control"] == "no-cache"
        assert unversioned.content == response.content


@pytest.mark.parametrize("name", ["index.html", "openapi.json", "LICENSE", "..%2Fdocumentation.py", "none.js"])
def test_files_other_than_assets_are_not_served(served, name):
    response = httpx.get(f"{served.url}/docs/{name}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_the_committed_openapi_document_is_served(served):
    response = httpx.get(f"{served.url}/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.content == (ROOT / "openapi.json").read_bytes()
    assert httpx.get(response.url, headers={"If-None-Match": response.headers["etag"]}).status_code == 304

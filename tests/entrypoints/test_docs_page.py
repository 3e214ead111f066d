"""The pages of the documentation, over HTTP and in a browser, under the path of an API Gateway stage."""

import functools
import html
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
from playwright.sync_api import Browser, Page, expect

from chalicelib.entrypoints.catalogue import all_operations
from local.generators.docs_site.pages import FOLDER, build_site
from local.generators.verifier_program import verifier_program
from local.paths import ROOT
from local.server.http_server import Handler, create_server
from tests.harness import memory_aws
from tests.harness.browser import LoggedPage, accessibility_violations, content_width, save_screenshot
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.generated_files import require_current_files
from tests.harness.threaded_servers import serve_in_thread
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")

STAGE = "/api"
FILES: Final = build_site()
PAGES: Final = sorted(name.removesuffix(".html") for name in FILES if name.endswith(".html") and name != "index.html")
LINK: Final = re.compile(r'(?:href|src)="([^"]*)"')


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


@pytest.fixture
def open_page(served: RunningService, browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens a page. A test fails if the browser logs an error in it, or requests another host."""
    with ExitStack() as opened_pages:
        opened = list[LoggedPage]()

        def open_page(name: str = "", **options: Any) -> Page:
            opened.append(opened_pages.enter_context(LoggedPage(browser, **options)))
            opened[-1].page.goto(f"{served.url}/docs{name and '/'}{name}")
            return opened[-1].page

        yield open_page
        for each in opened:
            assert each.read_messages() == []
            assert [url for url in each.requested_urls if not url.startswith(f"{served.url}/")] == []


def test_the_committed_pages_are_those_of_make_generate():
    require_current_files(FOLDER, FILES, "make generate")


def test_each_operation_is_on_a_page_with_its_access_scope_events_errors_and_samples():
    shown = {}
    for name in PAGES:
        for section in FILES[f"{name}.html"].split('<section class="operation" id="')[1:]:
            shown[section.partition('"')[0]] = section
    assert shown.keys() == {operation.id for operation in all_operations()}
    for operation in all_operations():
        text = shown[operation.id]
        facts = [operation.access_label, *filter(None, [operation.scope]), *operation.emits]
        assert [fact for fact in facts if f"<code>{fact}</code>" not in text] == []
        assert "<summary>Errors</summary>" in text
        assert re.findall('data-language="([^"]+)"', text) == ["curl", "TypeScript", "Python"]


def test_each_link_leads_to_an_existing_page_and_anchor():
    anchors = {name: {*re.findall(r' id="([^"]*)"', text)} for name, text in FILES.items()}
    broken = []
    for name, text in FILES.items():
        for url in LINK.findall(text) if name.endswith(".html") else ():
            path, _, anchor = html.unescape(url).partition("#")
            page = path.removeprefix("%BASE%/docs").removeprefix("/") or "index" if path else name.removesuffix(".html")
            is_external = path.startswith("http") or (path.startswith("%BASE%") and not path.startswith("%BASE%/docs"))
            file = page if "." in page else f"{page}.html"
            if (
                not is_external
                and "?v=" not in path
                and file != "verify.py"
                and (file not in FILES or (anchor and anchor not in anchors[file]))
            ):
                broken.append(f"{name}: {url}")
    assert broken == []


@pytest.mark.parametrize("name", ["api-organizations", "api-sites"])
def test_the_first_operation_appears_within_a_second(open_page, name):
    page = open_page(name)
    painted = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    wait_until(lambda: page.evaluate(painted) is not None)
    assert page.locator(".operation").first.is_visible()
    assert page.evaluate(painted) <= 1000


def test_each_document_of_the_search_has_an_id_of_its_own():
    ids = [document["id"] for document in json.loads(FILES["search.json"])]
    assert len(ids) == len({*ids})


def test_the_search_finds_operations_and_sections(open_page):
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("transfer ownership")
    page.locator("#results [role=option]").first.wait_for()
    found = page.locator("#results [role=option]").all_inner_texts()
    assert any("POST /organizations/{organization_id}/transfer-ownership" in text for text in found)
    page.keyboard.press("ArrowDown")
    assert page.locator("#results [aria-selected=true]").inner_text() == found[1 % len(found)]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/docs/[a-z-]+#"))
    page.keyboard.press("/")
    page.keyboard.type("qqqqqq")
    expect(page.locator("#results")).to_have_text("Nothing found")
    page.keyboard.press("Escape")
    expect(page.locator("#results")).to_be_hidden()


def test_samples_name_this_service_and_can_be_copied(open_page, served):
    page = open_page("api-organizations")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sample = page.locator("#create_organization .sample").first
    sample.locator(".copy").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"curl {served.url}/organizations")


def test_the_language_of_samples_is_chosen_for_all_operations_and_remembered(open_page):
    page = open_page("api-spaces")
    first, second = (page.locator(f"#{operation} .samples") for operation in ("get_space", "update_space"))
    expect(first).to_contain_text("curl http")
    first.get_by_role("tab", name="Python").click()
    for samples in (first, second):
        expect(samples.get_by_role("tabpanel")).to_contain_text("from atrium_client import Atrium")
        expect(samples.get_by_role("tabpanel")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(second.get_by_role("tabpanel")).to_contain_text("from 'atrium-client'")
    expect(second.get_by_role("tab", name="TypeScript")).to_have_attribute("aria-selected", "true")
    page.reload()
    expect(second.get_by_role("tabpanel")).to_contain_text("from 'atrium-client'")


def test_samples_for_curl_are_shown_without_scripts(open_page):
    page = open_page("api-me", java_script_enabled=False)
    samples = page.locator("#get_me .samples")
    expect(samples.get_by_role("tab")).to_have_count(0)
    expect(samples.get_by_role("tabpanel")).to_have_count(1)
    expect(samples.get_by_role("tabpanel")).to_contain_text("curl https://api.example.com/me")


@pytest.mark.parametrize("name", ["", "api-organizations", "guides-tour"])
@pytest.mark.parametrize(("width", "color_scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_is_accessible_and_fits_the_window(open_page, name, width, color_scheme):
    page = open_page(name, width=width, color_scheme=color_scheme)
    assert content_width(page) <= width
    assert accessibility_violations(page) == []
    save_screenshot(page, f"docs-{name or 'index'}-{width}")
    assert page.title().endswith(" · Atrium")
    assert page.locator("html").get_attribute("lang") == "en"


def test_a_phone_shows_the_contents_on_demand(open_page):
    page = open_page("api-me", width=390)
    expect(page.locator("#contents")).to_be_hidden()
    page.locator(".menu").click()
    page.locator("#contents").get_by_text("Webhooks", exact=True).click()
    page.wait_for_url(re.compile("/docs/guides-webhooks$"))


def test_the_page_cannot_send_requests_to_another_host(served, browser):
    with LoggedPage(browser) as opened:
        opened.page.goto(f"{served.url}/docs")
        other_url = served.url.replace("127.0.0.1", "localhost")
        script = "url => fetch(url).then(() => 'sent', () => 'refused')"
        assert opened.page.evaluate(script, f"{other_url}/status") == "refused"
        messages = opened.read_messages()
        assert messages
        assert all("Content Security Policy" in message for message in messages)


def test_the_verifier_and_the_markdown_of_a_page_are_served(served):
    response = httpx.get(f"{served.url}/docs/verify.py")
    assert response.headers["content-type"] == "text/x-python; charset=utf-8"
    assert response.text == verifier_program()
    response = httpx.get(f"{served.url}/docs/concepts.md")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert response.text == (ROOT / "docs/concepts.md").read_text()


def test_language_models_find_the_markdown_of_each_page(served):
    text = httpx.get(f"{served.url}/llms.txt").text
    assert text.startswith("# Atrium\n\n> ")
    paths = re.findall(rf"\]\({STAGE}/docs/([a-z0-9.-]+\.md)\)", text)
    assert sorted(paths) == sorted(name for name in FILES if name.endswith(".md"))


def test_the_content_security_policy_admits_only_the_assets_of_the_page(served):
    response = httpx.get(f"{served.url}/docs")
    assert response.text == httpx.get(f"{served.url}/docs/").text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", response.text)
    urls = LINK.findall(response.text)
    assert len(urls) > 5
    assert [url for url in urls if not url.startswith((f"{STAGE}/", "#", "https://"))] == []


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_without_a_stage_urls_start_at_the_root(path, configure):
    configure(**PLACEHOLDER_KEY_SETTINGS)  # Chalice's client uses the stage `dev`.
    app = runpy.run_path(str(ROOT / "app.py"))["app"]
    urls = re.findall(rb'(?:href|src)="([^"]*)"', Client(app).http.get(path).body)
    assert {b"/docs", b"/openapi.json", b"/status"} <= set(urls)
    assert not [url for url in urls if not re.match(rb"/[a-z]|#|https:", url)]


def test_versioned_assets_are_cached_permanently_and_unversioned_ones_are_revalidated(served):
    urls = set(re.findall(rf'"{STAGE}/(docs/[^"]*[?]v=[^"]*)"', httpx.get(f"{served.url}/docs").text))
    assert len(urls) == 3
    for url in urls:
        response = httpx.get(f"{served.url}/{url}")
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers["x-content-type-options"] == "nosniff"
        revalidation = httpx.get(f"{served.url}/{url}", headers={"If-None-Match": response.headers["etag"]})
        assert (revalidation.status_code, revalidation.content) == (304, b"")
        unversioned = httpx.get(f"{served.url}/{url.partition('?')[0]}")
        assert unversioned.headers["cache-control"] == "no-cache"
        assert unversioned.content == response.content


@pytest.mark.parametrize("name", ["index", "index.html", "openapi.json", "license", "..%2Fdocumentation.py", "none.js"])
def test_files_other_than_assets_are_not_served(served, name):
    response = httpx.get(f"{served.url}/docs/{name}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_the_committed_openapi_document_is_served(served):
    response = httpx.get(f"{served.url}/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.content == (ROOT / "openapi.json").read_bytes()
    assert httpx.get(response.url, headers={"If-None-Match": response.headers["etag"]}).status_code == 304

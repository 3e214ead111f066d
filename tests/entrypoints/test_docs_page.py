"""The documentation page, over HTTP and in a browser, under the path of an API Gateway stage."""

import functools
import json
import re
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from chalice.app import Request, Response
from chalice.config import Config
from chalice.local import LocalDevServer
from chalice.test import Client
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from chalicelib.entrypoints.catalogue import all_operations, event_names
from chalicelib.features.audit.exports.logic import verify
from local.paths import ROOT
from local.server.http_server import Handler, create_server
from tests.harness import memory_aws
from tests.harness.browser import content_width, emulate_display, read_log
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.threaded_servers import serve_in_thread

STAGE = "/api"


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
def page(served: RunningService, browser: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """The loaded page, in a desktop browser that prefers light colours."""
    emulate_display(browser, color_scheme="light", width=1280)
    read_log(browser, "performance")
    read_log(browser, "browser")
    served.requests.clear()
    browser.get("about:blank")
    browser.get(f"{served.url}/docs")
    _wait_for(browser, ".opblock")
    yield browser
    assert read_log(browser, "browser") == []


def _wait_for(browser: webdriver.Chrome, selector: str) -> WebElement:
    element: WebElement = WebDriverWait(browser, 20).until(lambda b: b.find_element(By.CSS_SELECTOR, selector))
    return element


def _click(browser: webdriver.Chrome, selector: str) -> None:
    # By script, since a sticky header could intercept the click.
    browser.execute_script("arguments[0].click()", _wait_for(browser, selector))


def _scroll_until(browser: webdriver.Chrome, is_reached: Callable[[], bool]) -> None:
    """Scroll down from the top. The page renders only the operations that are in view."""
    if is_reached():
        return
    browser.execute_script("scrollTo(0, 0)")
    _wait_for(browser, ".opblock")
    while not is_reached():
        script = "const before = scrollY; scrollBy(0, 400); setTimeout(arguments[0], 100, [before, scrollY])"
        before, now = browser.execute_async_script(script)
        if before == now:
            WebDriverWait(browser, 5).until(lambda _: is_reached(), "the end of the page was reached")
            return


EXPAND_SCRIPT: Final = """
const block = document.querySelector(arguments[0]);
if (block && !block.matches(".is-open")) block.querySelector(".opblock-summary-control").click();
block?.scrollIntoView();
return block !== null;
"""


def _expand(browser: webdriver.Chrome, operation_id: str) -> str:
    """Expand an operation, and return the selector of its block."""
    block = f"[id$='-{operation_id}'].opblock"

    def is_expanded(_: webdriver.Chrome) -> bool:
        # Blocks above may still change their height and push this one out of view, which removes it from the page.
        _scroll_until(browser, lambda: bool(browser.execute_script(EXPAND_SCRIPT, block)))
        return bool(browser.find_elements(By.CSS_SELECTOR, f"{block}.is-open .responses-wrapper"))

    WebDriverWait(browser, 20).until(is_expanded, f"{operation_id} does not expand")
    return block


def _execute(browser: webdriver.Chrome, operation_id: str) -> tuple[str, dict[str, Any]]:
    """Try out an operation, and return the status and body that the page shows."""
    block = _expand(browser, operation_id)
    _click(browser, f"{block} .try-out__btn")
    _click(browser, f"{block} .execute")
    response = _wait_for(browser, f"{block} .live-responses-table .response")
    status = response.find_element(By.CSS_SELECTOR, ".response-col_status").text
    body = response.find_element(By.CSS_SELECTOR, ".response-col_description pre").get_attribute("textContent") or ""
    return status.split()[0], json.loads(body)


def _lightness(browser: webdriver.Chrome, selector: str, property_name: str) -> float:
    """Return the lightness of a colour property of an element, from 0 to 255."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    color = browser.execute_script(script, selector, property_name)
    return sum(float(part) for part in re.findall(r"[\d.]+", color)[:3]) / 3


def test_the_page_shows_every_operation_and_event(page):
    expected = {operation.path for operation in all_operations()} | set(event_names())
    shown_paths: set[str] = set()

    def are_all_shown() -> bool:
        script = "return [...document.querySelectorAll('.opblock-summary-path')].map(path => path.dataset.path)"
        shown_paths.update(page.execute_script(script))
        return expected <= shown_paths

    _scroll_until(page, are_all_shown)
    assert shown_paths == expected


def test_the_page_has_a_title_language_and_description(page):
    assert page.title == "Atrium API reference"
    assert page.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    assert page.find_element(By.CSS_SELECTOR, "meta[name=description]").get_attribute("content")


def test_the_page_requests_only_urls_of_its_stage(page, served):
    messages = [json.loads(entry["message"])["message"] for entry in read_log(page, "performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    foreign_urls = [url for url in urls if not url.startswith((f"{served.url}/", "data:", "about:"))]
    assert f"{served.url}/openapi.json" in urls
    assert foreign_urls == []


def test_the_page_cannot_send_requests_to_another_host(page, served):
    other_url = served.url.replace("127.0.0.1", "localhost")
    script = "const done = arguments[1]; fetch(arguments[0]).then(() => done('sent'), () => done('refused'))"
    assert page.execute_async_script(script, f"{other_url}/status") == "refused"
    assert f"{STAGE}/status" not in [path for path, _ in served.requests]
    messages = [entry["message"] for entry in read_log(page, "browser")]
    assert messages
    assert all("Content Security Policy" in message for message in messages)


def test_the_page_follows_the_preferred_colours(page):
    for scheme, is_light in (("light", True), ("dark", False), ("light", True)):
        emulate_display(page, color_scheme=scheme, width=1280)
        _wait_for(page, "html:not(.dark-mode)" if is_light else "html.dark-mode")
        assert (_lightness(page, "html", "backgroundColor") > 128) == is_light
        for selector in ("body > header .name", ".opblock-summary-path", ".opblock-summary-description", ".info p"):
            assert (_lightness(page, selector, "color") < 128) == is_light, (scheme, selector)


def test_a_phone_needs_no_horizontal_scrolling(page):
    emulate_display(page, color_scheme="light", width=390)
    assert content_width(page) <= 390
    for operation_id in ("create_organization", "verify_audit_integrity", "rotate_api_key"):
        _expand(page, operation_id)
        assert content_width(page) <= 390, operation_id
    _click(page, ".btn.authorize")
    dialog = _wait_for(page, ".modal-ux").rect
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 390
    assert content_width(page) <= 390


def test_an_operation_can_be_tried_out(page, served):
    status, body = _execute(page, "get_status")
    assert (status, body["status"]) == ("200", "ok")
    path, headers = served.requests[-1]
    assert path == f"{STAGE}/status"
    assert "authorization" not in headers


def test_a_link_opens_its_operation(page, served):
    _expand(page, "verify_audit_integrity")
    link = page.current_url
    assert link == f"{served.url}/docs#/organizations/verify_audit_integrity"
    page.get("about:blank")
    page.get(link)
    block = _wait_for(page, ".opblock.is-open")
    assert (block.get_attribute("id") or "").endswith("-verify_audit_integrity")
    assert len(page.find_elements(By.CSS_SELECTOR, ".opblock.is-open")) == 1
    is_at_top = "return Math.abs(document.querySelector('.opblock.is-open').getBoundingClientRect().top) < 200"
    WebDriverWait(page, 20).until(lambda b: b.execute_script(is_at_top))


def test_a_credential_is_sent_only_with_operations_that_are_tried_out_and_is_not_stored(page, served):
    _click(page, ".btn.authorize")
    _wait_for(page, ".modal-ux input").send_keys("a-token-of-mine")
    _click(page, ".modal-ux .btn.modal-btn.authorize")
    _click(page, ".modal-ux .btn-done")
    status, problem = _execute(page, "list_organizations")
    assert (status, problem["code"]) == ("401", "unauthenticated")
    paths_with_credential = [path for path, headers in served.requests if "authorization" in headers]
    assert [path.partition("?")[0] for path in paths_with_credential] == [f"{STAGE}/organizations"]
    assert served.requests[-1][1]["authorization"] == "Bearer a-token-of-mine"
    messages = read_log(page, "browser")
    assert [m["message"].rpartition("status of ")[2] for m in messages] == ["401 (Unauthorized)"]
    page.refresh()
    _wait_for(page, ".opblock")
    assert page.execute_script("return localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_the_content_security_policy_admits_only_the_assets_of_the_page(served):
    response = httpx.get(f"{served.url}/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", response.text)
    urls = re.findall(r'(?:href|src)="([^"]*)"', response.text)
    assert len(urls) > 5
    assert not [url for url in urls if not url.startswith(f"{STAGE}/")]
    assert "$" not in response.text


def test_a_trailing_slash_makes_no_difference(served, browser):
    assert httpx.get(f"{served.url}/docs/").text == httpx.get(f"{served.url}/docs").text
    browser.get("about:blank")
    browser.get(f"{served.url}/docs/?from=elsewhere#/organizations/verify_audit_integrity")
    assert (_wait_for(browser, ".opblock.is-open").get_attribute("id") or "").endswith("-verify_audit_integrity")
    assert browser.current_url == f"{served.url}/docs?from=elsewhere#/organizations/verify_audit_integrity"
    link = _wait_for(browser, ".info a[href$='verify.py']").get_attribute("href") or ""
    assert link == f"{served.url}/docs/verify.py"
    assert read_log(browser, "browser") == []


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


def test_the_introduction_links_to_the_offline_verifier(page, served):
    link = _wait_for(page, ".info a[href$='verify.py']").get_attribute("href") or ""
    assert link == f"{served.url}/docs/verify.py"
    response = httpx.get(link)
    assert response.headers["content-type"] == "text/x-python; charset=utf-8"
    assert response.content == Path(verify.__file__).read_bytes()


def test_the_committed_openapi_document_is_served(served):
    response = httpx.get(f"{served.url}/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.content == (ROOT / "openapi.json").read_bytes()
    assert httpx.get(response.url, headers={"If-None-Match": response.headers["etag"]}).status_code == 304

"""The documentation page, over HTTP and in a browser, below the path of a gateway's stage."""

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

from chalicelib.entrypoints.catalogue import events, operations
from chalicelib.features.audit.exports.logic import verify
from local.paths import ROOT
from local.server.http_server import Handler, server_of
from tests.conftest import SettingsOverride
from tests.harness import memory_aws
from tests.harness.browser import content_width, emulate_display, read_log
from tests.harness.data_keys import PLACEHOLDER_KEY_SETTINGS
from tests.harness.threaded_servers import serve_in_thread

STAGE = "/api"


@dataclass
class Served:
    """The service while it runs, and what it was asked: path with query, headers in lower case."""

    url: str
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class Gateway(Handler):
    """The local server as API Gateway would put it: everything below the path of a stage."""

    path: str

    def __init__(self, *arguments: Any, served: Served, **words: Any) -> None:
        self.served = served
        super().__init__(*arguments, **words)

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        self.served.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.path = self.path.removeprefix(STAGE) if self.path.startswith(STAGE) else "/outside-of-the-stage"
        return True

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def served(_aws_in_memory: None) -> Iterator[Served]:
    """The app on a port of this machine, with an AWS in memory."""
    memory_aws.reset()
    server, found = _server()
    with serve_in_thread(server.server):
        yield found


def _server() -> tuple[LocalDevServer, Served]:
    app = runpy.run_path(str(ROOT / "app.py"))["app"]
    app.register_middleware(_in_the_stage, "http")
    server = server_of(app, Config(), 0)
    found = Served(f"http://127.0.0.1:{server.server.server_port}{STAGE}")
    handler = functools.partial(Gateway, served=found, app_object=app, config=Config())
    server.server.RequestHandlerClass = handler
    return server, found


def _in_the_stage(request: Request, answer: Callable[[Request], Response]) -> Response:
    """Let the app know the path as the gateway was asked for it."""
    request.context["path"] = STAGE + request.context["path"]
    return answer(request)


@pytest.fixture
def page(served: Served, browser: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """The page, loaded, on a desktop that prefers light colours."""
    emulate_display(browser, color_scheme="light", width=1280)
    read_log(browser, "performance")
    read_log(browser, "browser")
    served.asked.clear()
    browser.get("about:blank")
    browser.get(f"{served.url}/docs")
    _wait(browser, ".opblock")
    yield browser
    assert read_log(browser, "browser") == []


def _wait(browser: webdriver.Chrome, selector: str) -> WebElement:
    found: WebElement = WebDriverWait(browser, 20).until(lambda b: b.find_element(By.CSS_SELECTOR, selector))
    return found


def _click(browser: webdriver.Chrome, selector: str) -> None:
    # By script, so that a sticky header can't take the click.
    browser.execute_script("arguments[0].click()", _wait(browser, selector))


def _scroll_until(browser: webdriver.Chrome, reached: Callable[[], bool]) -> None:
    """Scroll down from the top, since a long page holds only the operations that are in sight."""
    if reached():
        return
    browser.execute_script("scrollTo(0, 0)")
    _wait(browser, ".opblock")
    while not reached():
        script = "const before = scrollY; scrollBy(0, 400); setTimeout(arguments[0], 100, [before, scrollY])"
        before, now = browser.execute_async_script(script)
        if before == now:
            WebDriverWait(browser, 5).until(lambda _: reached(), "the page ends without it")
            return


UNFOLD: Final = """
const block = document.querySelector(arguments[0]);
if (block && !block.matches(".is-open")) block.querySelector(".opblock-summary-control").click();
block?.scrollIntoView();
return block !== null;
"""


def _open(browser: webdriver.Chrome, operation_id: str) -> str:
    """Unfold an operation, and return the selector of its block."""
    block = f"[id$='-{operation_id}'].opblock"

    def unfolded(_: webdriver.Chrome) -> bool:
        # What is above may still change its height and push the block out of sight, and so out of the page.
        _scroll_until(browser, lambda: bool(browser.execute_script(UNFOLD, block)))
        return bool(browser.find_elements(By.CSS_SELECTOR, f"{block}.is-open .responses-wrapper"))

    WebDriverWait(browser, 20).until(unfolded, f"{operation_id} doesn't unfold")
    return block


def _execute(browser: webdriver.Chrome, operation_id: str) -> tuple[str, dict[str, Any]]:
    """Try an operation out, and return the status and body that the page shows."""
    block = _open(browser, operation_id)
    _click(browser, f"{block} .try-out__btn")
    _click(browser, f"{block} .execute")
    answer = _wait(browser, f"{block} .live-responses-table .response")
    status = answer.find_element(By.CSS_SELECTOR, ".response-col_status").text
    body = answer.find_element(By.CSS_SELECTOR, ".response-col_description pre").get_attribute("textContent") or ""
    return status.split()[0], json.loads(body)


def _lightness(browser: webdriver.Chrome, selector: str, colour: str) -> float:
    """Return how light a colour of an element is, from 0 to 255."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    value = browser.execute_script(script, selector, colour)
    return sum(float(part) for part in re.findall(r"[\d.]+", value)[:3]) / 3


def test_the_page_shows_every_operation_and_event(page: webdriver.Chrome) -> None:
    expected = {operation.path for operation in operations()} | set(events())
    shown: set[str] = set()

    def all_shown() -> bool:
        script = "return [...document.querySelectorAll('.opblock-summary-path')].map(path => path.dataset.path)"
        shown.update(page.execute_script(script))
        return expected <= shown

    _scroll_until(page, all_shown)
    assert shown == expected


def test_the_page_says_what_it_is(page: webdriver.Chrome) -> None:
    assert page.title == "Atrium API reference"
    assert page.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    assert page.find_element(By.CSS_SELECTOR, "meta[name=description]").get_attribute("content")


def test_the_page_asks_no_other_host_and_stays_below_its_stage(page: webdriver.Chrome, served: Served) -> None:
    messages = [json.loads(entry["message"])["message"] for entry in read_log(page, "performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    elsewhere = [url for url in asked if not url.startswith((f"{served.url}/", "data:", "about:"))]
    assert f"{served.url}/openapi.json" in asked
    assert elsewhere == []


def test_nothing_of_the_page_can_ask_another_host(page: webdriver.Chrome, served: Served) -> None:
    other = served.url.replace("127.0.0.1", "localhost")
    script = "const done = arguments[1]; fetch(arguments[0]).then(() => done('sent'), () => done('refused'))"
    assert page.execute_async_script(script, f"{other}/status") == "refused"
    assert f"{STAGE}/status" not in [path for path, _ in served.asked]
    complaints = [entry["message"] for entry in read_log(page, "browser")]
    assert complaints
    assert all("Content Security Policy" in complaint for complaint in complaints)


def test_the_page_follows_the_preferred_colours(page: webdriver.Chrome) -> None:
    for scheme, is_light in (("light", True), ("dark", False), ("light", True)):
        emulate_display(page, color_scheme=scheme, width=1280)
        _wait(page, "html:not(.dark-mode)" if is_light else "html.dark-mode")
        assert (_lightness(page, "html", "backgroundColor") > 128) == is_light
        for selector in ("body > header .name", ".opblock-summary-path", ".opblock-summary-description", ".info p"):
            assert (_lightness(page, selector, "color") < 128) == is_light, (scheme, selector)


def test_a_phone_needs_no_horizontal_scrolling(page: webdriver.Chrome) -> None:
    emulate_display(page, color_scheme="light", width=390)
    assert content_width(page) <= 390
    for operation_id in ("create_organization", "verify_audit_integrity", "rotate_api_key"):
        _open(page, operation_id)
        assert content_width(page) <= 390, operation_id
    _click(page, ".btn.authorize")
    dialog = _wait(page, ".modal-ux").rect
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 390
    assert content_width(page) <= 390


def test_an_operation_can_be_tried_out(page: webdriver.Chrome, served: Served) -> None:
    status, body = _execute(page, "get_status")
    assert (status, body["status"]) == ("200", "ok")
    path, headers = served.asked[-1]
    assert path == f"{STAGE}/status"
    assert "authorization" not in headers


def test_a_link_leads_to_its_operation(page: webdriver.Chrome, served: Served) -> None:
    _open(page, "verify_audit_integrity")
    link = page.current_url
    assert link == f"{served.url}/docs#/organizations/verify_audit_integrity"
    page.get("about:blank")
    page.get(link)
    block = _wait(page, ".opblock.is-open")
    assert (block.get_attribute("id") or "").endswith("-verify_audit_integrity")
    assert len(page.find_elements(By.CSS_SELECTOR, ".opblock.is-open")) == 1
    at_its_top = "return Math.abs(document.querySelector('.opblock.is-open').getBoundingClientRect().top) < 200"
    WebDriverWait(page, 20).until(lambda b: b.execute_script(at_its_top))


def test_a_credential_goes_with_what_is_tried_out_and_nowhere_else(page: webdriver.Chrome, served: Served) -> None:
    _click(page, ".btn.authorize")
    _wait(page, ".modal-ux input").send_keys("a-token-of-mine")
    _click(page, ".modal-ux .btn.modal-btn.authorize")
    _click(page, ".modal-ux .btn-done")
    status, problem = _execute(page, "list_organizations")
    assert (status, problem["code"]) == ("401", "unauthenticated")
    carried = [path for path, headers in served.asked if "authorization" in headers]
    assert [path.partition("?")[0] for path in carried] == [f"{STAGE}/organizations"]
    assert served.asked[-1][1]["authorization"] == "Bearer a-token-of-mine"
    complaints = read_log(page, "browser")
    assert [c["message"].rpartition("status of ")[2] for c in complaints] == ["401 (Unauthorized)"]
    page.refresh()
    _wait(page, ".opblock")
    assert page.execute_script("return localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_the_page_is_strict_about_what_it_loads(served: Served) -> None:
    answer = httpx.get(f"{served.url}/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", answer.text)
    addresses = re.findall(r'(?:href|src)="([^"]*)"', answer.text)
    assert len(addresses) > 5
    assert not [address for address in addresses if not address.startswith(f"{STAGE}/")]
    assert "$" not in answer.text


def test_a_slash_at_the_end_makes_no_difference(served: Served, browser: webdriver.Chrome) -> None:
    assert httpx.get(f"{served.url}/docs/").text == httpx.get(f"{served.url}/docs").text
    browser.get("about:blank")
    browser.get(f"{served.url}/docs/?from=elsewhere#/organizations/verify_audit_integrity")
    assert (_wait(browser, ".opblock.is-open").get_attribute("id") or "").endswith("-verify_audit_integrity")
    assert browser.current_url == f"{served.url}/docs?from=elsewhere#/organizations/verify_audit_integrity"
    link = _wait(browser, ".info a[href$='verify.py']").get_attribute("href") or ""
    assert link == f"{served.url}/docs/verify.py"
    assert read_log(browser, "browser") == []


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_without_a_stage_addresses_begin_at_the_root(path: str, configure: SettingsOverride) -> None:
    configure(**PLACEHOLDER_KEY_SETTINGS)  # Chalice's client is of the stage `dev`.
    app = runpy.run_path(str(ROOT / "app.py"))["app"]
    addresses = re.findall(rb'(?:href|src)="([^"]*)"', Client(app).http.get(path).body)
    assert {b"/docs", b"/openapi.json", b"/status"} <= set(addresses)
    assert not [address for address in addresses if not re.match(rb"/[a-z]", address)]


def test_an_asset_is_kept_for_as_long_as_it_stays_the_same(served: Served) -> None:
    addresses = set(re.findall(rf'"{STAGE}/(docs/[^"]*)"', httpx.get(f"{served.url}/docs").text))
    assert len(addresses) == 5
    for address in addresses:
        answer = httpx.get(f"{served.url}/{address}")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = httpx.get(f"{served.url}/{address}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        unversioned = httpx.get(f"{served.url}/{address.partition('?')[0]}")
        assert unversioned.headers["cache-control"] == "no-cache"
        assert unversioned.content == answer.content


@pytest.mark.parametrize("name", ["index.html", "openapi.json", "LICENSE", "..%2Fdocumentation.py", "none.js"])
def test_nothing_but_the_assets_is_served(served: Served, name: str) -> None:
    answer = httpx.get(f"{served.url}/docs/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_introduction_leads_to_the_script_that_proves_a_log(page: webdriver.Chrome, served: Served) -> None:
    link = _wait(page, ".info a[href$='verify.py']").get_attribute("href") or ""
    assert link == f"{served.url}/docs/verify.py"
    answer = httpx.get(link)
    assert answer.headers["content-type"] == "text/x-python; charset=utf-8"
    assert answer.content == Path(verify.__file__).read_bytes()


def test_the_document_is_served_as_it_is_committed(served: Served) -> None:
    answer = httpx.get(f"{served.url}/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == (ROOT / "openapi.json").read_bytes()
    assert httpx.get(answer.url, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304

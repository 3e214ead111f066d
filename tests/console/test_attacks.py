"""Attacks on the console: hostile texts on every screen, customers' pages of the same origin, and other sites."""

import re
from typing import Final

import pytest

from local.seed.callers import Service
from tests.console.scenarios import AREAS
from tests.console.scenarios.organization import organization_ids
from tests.console.tabs import CONSOLE_URL, ORIGIN, person
from tests.harness.api import STAGE_PATH

pytestmark = pytest.mark.xdist_group("browser")

HOSTILE: Final = "\"'><img src=x onerror=attacked=1><svg onload=attacked=1>[x](javascript:attacked=1)${attacked=1}"
HOSTILE_URL: Final = "https://example.com/?x=%22%3E%3Cscript%3Eattacked=1"

SITE_PAGE: Final = {
    "title": HOSTILE,
    "slug": "hostile",
    "blocks": [
        {
            "id": "text",
            "type": "text",
            "text": f"{HOSTILE}\n\n<script>attacked=1</script>\n\n[x](javascript:attacked=1)",
        },
        {"id": "heading", "type": "heading", "text": HOSTILE, "level": 2},
    ],
}

READ_LINKS: Final = """Array.from(document.querySelectorAll('a[href], area[href], [src], form[action]'),
    each => [each.getAttribute('href') ?? each.getAttribute('src') ?? each.getAttribute('action'), each.rel ?? ''])"""


def make_hostile(service: Service, ids: dict[str, str]) -> None:
    """Give the records that the screens show a hostile text wherever the API accepts one."""
    maud = service.caller_for(person("maud"))
    changes = {
        "organization": {"name": HOSTILE, "companyName": HOSTILE, "companyLegalName": HOSTILE},
        "platform": {"name": HOSTILE, "description": HOSTILE},
        "space": {"name": HOSTILE, "description": HOSTILE},
        "site": {"name": HOSTILE, "description": HOSTILE},
    }
    for name, body in changes.items():
        if name in ids:
            maud.patch(f"/{name}s/{ids[name]}", body)
    if "webhook" in ids:
        path = f"/organizations/{ids['organization']}/webhooks/{ids['webhook']}"
        maud.patch(path, {"description": HOSTILE, "url": HOSTILE_URL})
    if "site" in ids:
        maud.post(f"/sites/{ids['site']}/pages", SITE_PAGE)


@pytest.mark.parametrize("area", AREAS)
def test_hostile_texts_stay_texts_on_every_screen(open_tab, seeded_service, area):
    ids = AREAS[area].prepare(seeded_service)
    make_hostile(seeded_service, ids)
    tabs = {}
    for path, scenario in AREAS[area].scenarios.items():
        if scenario.user not in tabs:
            tabs[scenario.user] = open_tab(user=scenario.user)
            tabs[scenario.user].page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page = tabs[scenario.user].open_loaded(scenario.address(path, ids))
        assert page.evaluate("typeof attacked") == "undefined", path
        assert page.locator("main :is(img, svg:not(.icon), script, iframe)[src=x], main svg[onload]").count() == 0, path
        for link, rel in page.evaluate(READ_LINKS):
            assert re.match(r"(https?://|#|/|\.|data:,)", link), (path, link)
            assert link.startswith(("#", "data:,", STAGE_PATH)) or "noopener" in rel, (path, link)


def test_no_other_page_can_frame_the_console(open_tab, seeded_service):
    tab = open_tab(user="maud")
    page = tab.page
    page.set_content(f'<!doctype html><title>Frame</title><iframe src="{CONSOLE_URL}"></iframe>')
    page.wait_for_timeout(1000)
    frames = [frame.url for frame in page.frames if frame != page.main_frame]
    assert all(url.startswith("chrome-error:") for url in frames), frames
    tab.read_unexpected_messages()  # The browser reports the refused frame.


def create_customer_page(service: Service) -> str:
    """Publish a page with hostile content, and return its path on this origin."""
    ids = organization_ids(service)
    maud = service.caller_for(person("maud"))
    site = maud.list_all(f"/organizations/{ids['organization']}/sites")[0]
    page = maud.post(f"/sites/{site['id']}/pages", SITE_PAGE)
    maud.post(f"/sites/{site['id']}/pages/{page['id']}/publish")
    return f"/sites/{site['id']}/pages/by-path?path=/hostile"


def test_a_customers_page_runs_no_script_and_has_an_origin_of_its_own(open_tab, seeded_service, api):
    """Even in a window that the console opened without `noopener`, the page cannot reach the token."""
    path = create_customer_page(seeded_service)
    policy = api.get(path, headers={"Accept": "text/html"}).expect(200).headers["Content-Security-Policy"]
    (sandbox,) = [each.strip() for each in policy.split(";") if "sandbox" in each]
    assert "allow-scripts" not in sandbox
    assert "allow-same-origin" not in sandbox
    page = open_tab(user="maud").open("/")
    page.get_by_role("heading", level=1).wait_for()
    with page.context.expect_page() as opened:
        page.evaluate(f"window.opened = window.open('{ORIGIN}{STAGE_PATH}{path}'), null")
    opened.value.wait_for_url("**/by-path**", wait_until="commit")
    page.wait_for_timeout(500)
    read = "(() => { try { return window.opened.document.title } catch (error) { return error.name } })()"
    result = page.evaluate(read)
    assert result == "SecurityError", result


def test_a_stolen_tab_holds_nothing_after_signing_out_and_no_other_tab_has_the_token(open_tab, seeded_service):
    tab = open_tab(user="maud")
    page = tab.open("/")
    page.get_by_role("heading", level=1).wait_for()
    other = page.context.new_page()
    other.goto(f"{ORIGIN}{STAGE_PATH}/docs")
    assert other.evaluate("[sessionStorage.length, document.cookie]") == [0, ""]
    assert "eyJ" not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie + location.href")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/logout**")
    page.go_back()
    page.get_by_role("button", name="Sign in").wait_for()
    assert page.evaluate("sessionStorage.length") == 0

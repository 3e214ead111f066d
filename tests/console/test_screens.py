"""All screens of the console: accessible, as wide as the window, and with as few requests as documented."""

import json
from typing import Final

import pytest

from tests.console.scenarios import AREAS, read_routes
from tests.harness.browser import accessibility_violations, content_width, save_screenshot

pytestmark = pytest.mark.xdist_group("browser")

ALL_RULES: Final = ()
WINDOWS: Final = (
    ("light", 1280, ALL_RULES),
    ("dark", 1280, ("color-contrast",)),
    ("light", 390, ("color-contrast",)),
    ("dark", 390, ALL_RULES),
)
"""Color schemes, widths, and the accessibility rules that are checked. Each scheme and each layout is checked fully."""

FAILURE: Final = (
    400,
    {"Content-Type": "application/problem+json"},
    json.dumps({"status": 400, "code": "unreadable", "detail": "Not readable.", "requestId": "request-1"}),
)
USABLE_SCREENS: Final = {
    *("/o/:organization/settings", "/o/:organization/verification", "/p/:platform", "/p/:platform/theme"),
    *("/p/:platform/navigation", "/p/:platform/home", "/p/:platform/spaces/:space", "/s/:site"),
}
"""Screens that read nothing, or only names to choose from, besides the place that all screens show."""


@pytest.mark.parametrize("area", AREAS)
def test_every_screen_is_accessible_and_fits(open_tab, seeded_service, area):
    ids = AREAS[area].prepare(seeded_service)
    tabs = {}
    for path, scenario in AREAS[area].scenarios.items():
        if scenario.user not in tabs:
            tabs[scenario.user] = open_tab(user=scenario.user)
        for dialog in ("", *scenario.dialogs):
            page = tabs[scenario.user].open_loaded(scenario.address(path, ids, dialog))
            if dialog:
                page.get_by_role("dialog").locator("form").wait_for()
            name = f"{path}-{dialog.split(':')[0]}".strip("/-").replace("/", "-").replace(":", "") or "start"
            check_windows(page, name, (path, dialog))


def check_windows(page, name, state):
    """Check a screen in each window."""
    for color_scheme, width, rules in WINDOWS:
        page.emulate_media(color_scheme=color_scheme)
        page.set_viewport_size({"width": width, "height": 844})
        assert accessibility_violations(page, *rules) == [], (state, color_scheme, width)
        assert content_width(page) <= width, (state, width)
        if not rules:
            save_screenshot(page, f"console-{name}-{color_scheme}-{width}")


@pytest.mark.parametrize("area", AREAS)
def test_screens_send_no_more_requests_than_documented(open_tab, seeded_service, area):
    ids = AREAS[area].prepare(seeded_service)
    for path, scenario in AREAS[area].scenarios.items():
        tab = open_tab(user=scenario.user)
        page = tab.open_loaded(scenario.address(path, ids))
        page.wait_for_timeout(200)
        calls = [each for each in tab.requested if not is_of_frame(each, ids)]
        assert len(calls) <= scenario.calls, (path, calls)


@pytest.mark.parametrize("area", AREAS)
def test_every_screen_shows_what_failed(open_tab, seeded_service, area):
    ids = AREAS[area].prepare(seeded_service)
    for path, scenario in AREAS[area].scenarios.items():
        tab = open_tab(user=scenario.user)
        tab.find_failure = lambda call: None if is_of_frame(call, ids) else FAILURE
        page = tab.open(scenario.address(path, ids))
        page.locator(".skeleton").first.wait_for(state="detached")
        if path not in USABLE_SCREENS:
            page.get_by_text("unreadable").first.wait_for()


def is_of_frame(call, ids):
    """Return whether a call reads the user or the place of the screen, which all screens show."""
    method, target = call.split(" ")
    _, kind, identifier, *more = target.split("/") if target.count("/") > 1 else ("", target[1:], "")
    is_place = method == "GET" and not more and kind in ("organizations", "platforms", "sites", "spaces")
    return call == "GET /me" or (is_place and identifier in ids.values())


def test_every_route_has_a_scenario():
    assert read_routes() == {path for area in AREAS.values() for path in area.scenarios}

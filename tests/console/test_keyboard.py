"""The command palette and the keyboard shortcuts."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.scenarios.organization import organization_ids
from tests.harness.browser import accessibility_violations, save_screenshot

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def page(open_tab, seeded_service):
    page = open_tab(user="maud").open(f"/o/{organization_ids(seeded_service)['organization']}")
    page.get_by_role("heading", name="Latest changes").wait_for()
    return page


def test_the_palette_opens_a_screen_by_its_name(page):
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("memb")
    page.get_by_role("option", name="Members", selected=True).wait_for()
    assert accessibility_violations(page) == []
    save_screenshot(page, "console-palette")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Members", level=1).wait_for()
    assert page.get_by_role("dialog").count() == 0


def test_the_arrow_keys_move_through_the_results_of_the_palette(page):
    page.keyboard.press("Control+k")
    field, options = page.get_by_role("combobox"), page.get_by_role("option")
    field.fill("log")
    expect(options.first).to_have_text(re.compile("^Log"))
    assert options.count() > 2
    for key, index in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(options.nth(index)).to_have_attribute("aria-selected", "true")
        expect(field).to_have_attribute("aria-activedescendant", options.nth(index).get_attribute("id"))
    field.fill("lo")
    expect(options.first).to_have_attribute("aria-selected", "true")


def test_the_palette_finds_platforms_and_sites_and_says_if_it_finds_nothing(page):
    page.get_by_role("button", name="Search").click()
    page.get_by_role("combobox").fill("platforms arrel")
    option = page.get_by_role("option").first
    option.wait_for()
    assert option.inner_text().endswith("Platforms")
    page.get_by_role("combobox").fill("no such name")
    page.get_by_text("Nothing has this name.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def test_shortcuts_are_listed_lead_to_screens_and_can_be_switched_off(page):
    page.keyboard.press("Shift+?")
    page.get_by_role("heading", name="Keyboard shortcuts").wait_for()
    assert accessibility_violations(page) == []
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.get_by_role("heading", name="Members", level=1).wait_for()
    page.keyboard.press("Shift+?")
    page.get_by_role("checkbox", name="single characters").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.keyboard.press("Control+k")  # This one has a modifier, so it still works.
    page.get_by_role("dialog").get_by_role("combobox").wait_for()
    assert page.get_by_role("heading", name="Members", level=1).is_visible()

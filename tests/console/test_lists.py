"""Lists in the console: what they show while the items of other filters, or of another place, are read."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from local.seed.callers import Service
from tests.console.tabs import HeldReads, person
from tests.console.test_screens import FAILURE
from tests.harness.browser import accessibility_violations

pytestmark = pytest.mark.xdist_group("browser")

FILTERED: Final = "**/members?*q=*"


@pytest.fixture
def organization_id(seeded_service: Service) -> str:
    return seeded_service.caller_for(person("maud")).list_all("/organizations")[0]["id"]


def names_of(page: Page) -> Any:
    return page.get_by_role("table", include_hidden=True).locator(".primary-cell")


def test_former_items_stay_but_cannot_be_used_until_those_of_a_filter_are_read(open_tab, organization_id):
    page = open_tab(user="maud").open_loaded(f"/o/{organization_id}/members")
    expect(names_of(page)).to_have_count(9)
    held = HeldReads(page, FILTERED)
    page.get_by_label("Search").fill("hattie")
    expect(page.locator("table[inert]")).to_be_visible()
    expect(page.get_by_role("status").get_by_text("Loading")).to_be_visible()
    assert names_of(page).count() == 9
    assert accessibility_violations(page) == []
    held.release()
    expect(names_of(page)).to_have_count(1)
    page.get_by_role("button", name="Remove: Hattie Thornbeck").wait_for()
    page.get_by_text("1 member", exact=True).wait_for()


def test_items_of_a_former_filter_do_not_stay_beside_a_failure(open_tab, organization_id):
    tab = open_tab(user="maud")
    page = tab.open_loaded(f"/o/{organization_id}/members")
    tab.failures[f"GET /organizations/{organization_id}/members"] = FAILURE
    page.get_by_label("Search").fill("hattie")
    page.get_by_text("unreadable").wait_for()
    assert names_of(page).count() == 0


def test_items_of_one_organization_are_never_shown_in_another(open_tab, seeded_service, organization_id):
    other = seeded_service.caller_for(person("maud")).post("/organizations", {"name": "Other Works"})["id"]
    page = open_tab(user="maud").open_loaded(f"/o/{organization_id}/members")
    held = HeldReads(page, f"**/organizations/{other}/members**")
    page.evaluate("path => location.hash = path", f"/o/{other}/members?q=maud")
    page.locator(".skeleton").first.wait_for()
    assert names_of(page).count() == 0
    held.release()
    expect(names_of(page)).to_have_count(1)


def test_an_empty_list_is_not_said_to_match_nothing_before_it_is_read(open_tab, organization_id):
    page = open_tab(user="maud").open_loaded(f"/o/{organization_id}/members?q=nobody")
    page.get_by_text("No member is found").wait_for()
    held = HeldReads(page, FILTERED)
    page.get_by_label("Search").fill("hattie")
    page.locator(".skeleton").first.wait_for()
    assert page.get_by_text("No member is found").count() == 0
    held.release()
    expect(names_of(page)).to_have_count(1)

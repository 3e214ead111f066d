"""Platforms in the console: settings, publication, theme, modules, domain, members, spaces and taxonomy."""

import re
from typing import Any

import pytest
from playwright.sync_api import Dialog, expect

from local.seed.callers import Service
from tests.console.scenarios.platforms import platform_ids
from tests.console.tabs import person
from tests.harness.api import ApiClient

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def ids(seeded_service: Service) -> dict[str, str]:
    return platform_ids(seeded_service)


def call(service: Service, api: ApiClient, username: str, method: str, path: str, **json: Any) -> Any:
    """Call the service as a person, beside the browser."""
    headers = {"Authorization": f"Bearer {service.create_token(person(username))}"}
    return api.request(method, path, json=json, headers=headers).json


def read_platform(service, ids):
    return service.caller_for(person("maud")).get(f"/platforms/{ids['platform']}")


def test_a_platform_is_created_and_published(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/o/{ids['organization']}/platforms?dialog=create")
    page.get_by_role("dialog").get_by_label("Name").fill("Weir Keepers")
    page.get_by_role("radio", name=re.compile("Everybody")).check()
    page.get_by_role("dialog").get_by_role("button", name="Create platform").click()
    page.get_by_role("heading", name="Weir Keepers", level=1).wait_for()
    page.get_by_text("Still missing").wait_for()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    page.get_by_text("Weir Keepers is published.").wait_for()
    created = seeded_service.caller_for(person("maud")).list_all("/platforms", organizationId=ids["organization"])
    assert [each["joinPolicy"] for each in created if each["status"] == "published" and each["slug"] == "weir-keepers"]


def test_settings_that_somebody_else_changed_are_merged_field_by_field(open_tab, seeded_service, ids, api):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}?dialog=settings")
    page.get_by_role("dialog").get_by_label("Name").fill("Arrel Readers")
    page.get_by_label("Description").fill("Mine.")
    call(seeded_service, api, "ines", "PATCH", f"/platforms/{ids['platform']}", name="Arrel Gauges")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    assert read_platform(seeded_service, ids)["name"] == "Arrel Gauges"
    page.get_by_role("radio", name="Theirs").first.check()
    page.get_by_role("radio", name="Yours").last.check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The settings were saved.").wait_for()
    platform = read_platform(seeded_service, ids)
    assert (platform["name"], platform["description"]) == ("Arrel Gauges", "Mine.")


def test_a_domain_is_shared_by_a_link_that_is_shown_once(open_tab, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/domain?dialog=link")
    page.get_by_role("button", name="Create link").click()
    assert "#token=" in page.locator(".secret code").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert "token=" not in page.content()


def test_a_domain_is_removed_after_its_name_was_typed_and_another_is_set(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/domain?dialog=remove")
    confirm = page.get_by_role("dialog").get_by_role("button", name="Remove")
    assert confirm.is_disabled()
    page.get_by_label(re.compile("Type")).fill("rivers.harrowmere.example.com")
    confirm.click()
    page.get_by_role("button", name="Set domain").click()
    page.get_by_role("textbox", name="Domain").fill("gauges.harrowmere.example.com")
    page.get_by_role("dialog").get_by_role("button", name="Set domain").click()
    page.get_by_role("heading", name="TXT record").first.wait_for()
    path = f"/platforms/{ids['platform']}/custom-domain"
    assert seeded_service.caller_for(person("maud")).get(path)["domain"] == "gauges.harrowmere.example.com"


def test_a_member_of_the_platform_gets_a_role_in_a_private_space(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/spaces/{ids['space']}/members?dialog=add")
    page.get_by_label("Person").select_option(label="João Sabugal")
    page.get_by_role("radio", name=re.compile("Editor")).check()
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    page.get_by_text(re.compile("was added")).wait_for()
    members = seeded_service.caller_for(person("maud")).list_all(f"/spaces/{ids['space']}/members")
    assert {each["username"]: each["role"] for each in members}["joao"] == "editor"


def test_a_member_reads_the_platform_and_is_told_who_can_change_it(open_tab, ids):
    tab = open_tab(user="hattie")
    for path in ("", "/domain", "/members", "/spaces"):
        page = tab.open(f"/p/{ids['platform']}{path}")
        page.get_by_text("ask Maud Ellery").first.wait_for()
        assert (
            page.get_by_role("main").get_by_role("button", name=re.compile("Edit|Delete|Remove|Invite|Create")).count()
            == 0
        )


def test_a_space_that_a_member_cannot_see_is_said_not_to_be_there(open_tab, seeded_service, ids, api):
    body = {"platformId": ids["platform"], "name": "Secret", "visibility": "private"}
    secret = call(seeded_service, api, "maud", "POST", "/spaces", **body)
    page = open_tab(user="hattie").open(f"/p/{ids['platform']}/spaces/{secret['id']}")
    page.get_by_text("Nothing here that you can see").wait_for()


def test_the_contrast_is_that_of_the_service_while_the_theme_is_edited(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/theme")
    page.get_by_label("text", exact=True).fill("#8a9a9f")
    row = page.get_by_role("row", name=re.compile("^text on background"))
    row.get_by_text("Too low").wait_for()
    ratio = row.get_by_role("cell").nth(1).inner_text()
    preview = page.get_by_label("Preview of the theme")
    assert preview.evaluate("each => each.style.getPropertyValue('--theme-text')") == "#8a9a9f"
    page.get_by_role("button", name="Remove: accent").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("The theme was saved.").wait_for()
    platform = read_platform(seeded_service, ids)
    assert "accent" not in platform["theme"]["colors"]
    assert ratio in platform["warnings"][0]["detail"]


def test_hostile_theme_and_names_stay_text(open_tab, seeded_service, ids, api):
    path = f"/platforms/{ids['platform']}"
    fonts = {"heading": 'x"url(javascript:alert(1))', "body": "a, b"}
    call(seeded_service, api, "maud", "PATCH", f"{path}/theme", fonts=fonts)
    call(seeded_service, api, "maud", "PATCH", path, name="<img src=x onerror=alert(1)>")
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/theme")
    page.get_by_label("heading", exact=True).wait_for()
    assert page.get_by_label("heading", exact=True).input_value() == fonts["heading"]
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("heading", name="<img src=x onerror=alert(1)>", level=1).wait_for()
    assert page.locator("main img").count() == 0


def test_navigation_items_are_moved_with_the_keyboard_and_saved(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/navigation")
    page.get_by_role("button", name="Move down: Start here").focus()
    page.keyboard.press("Enter")
    page.locator("button[aria-label='Move down: Start here']:focus").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("The navigation was saved.").wait_for()
    items = read_platform(seeded_service, ids)["navigation"]["items"]
    assert [each["id"] for each in items] == ["rivers", "calendar", "start", "gauges"]
    assert [each["id"] for each in items[0]["children"]] == ["upper", "lower"]


def test_changes_of_the_navigation_are_lost_only_after_a_question(open_tab, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/navigation")
    questions: list[str] = []

    def stay(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_label("Label").first.fill("Begin here")
    page.get_by_role("link", name="Theme").click()
    assert questions == ["Leave without saving your changes?"]
    assert page.get_by_label("Label").first.input_value() == "Begin here"
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("link", name="Theme").click()
    page.get_by_role("heading", name="Theme", level=1).wait_for()
    assert len(questions) == 1


def test_the_first_field_of_a_dialog_has_the_focus_once_its_record_is_read(open_tab, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}?dialog=settings")
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()


def test_a_module_that_is_turned_off_is_off_in_spaces_unless_they_override_it(open_tab, seeded_service, ids, api):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/modules")
    page.get_by_role("switch", name="On: Events").uncheck()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("The modules were saved.").wait_for()
    page.goto(page.url.split("#")[0] + f"#/p/{ids['platform']}/spaces/{ids['space']}/modules?dialog=override:events")
    page.get_by_role("radio", name="On", exact=True).check()
    call(seeded_service, api, "ines", "POST", f"/spaces/{ids['space']}/capabilities", capabilityKey="maps")
    page.get_by_role("button", name="Save changes").click()
    # The version of the space also counts its capabilities, so nothing is lost if it was an override.
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    page.get_by_role("radio", name="Yours").check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The override of events was saved.").wait_for()
    overrides = seeded_service.caller_for(person("maud")).list_all(f"/spaces/{ids['space']}/module-overrides")
    assert {each["moduleId"]: each["enabled"] for each in overrides} == {
        "events": True,
        "feed": False,
        "messaging": True,
    }


def test_a_category_is_opened_level_by_level_moved_and_deleted(open_tab, seeded_service, ids):
    tab = open_tab(user="maud")
    page = tab.open(f"/p/{ids['platform']}/taxonomy")
    page.get_by_role("link", name="Rivers").wait_for()
    tree = f"GET /platforms/{ids['platform']}/taxonomy-tree"
    assert tab.requested.count(tree) == 1
    page.get_by_role("button", name="Below Rivers").press("Enter")
    page.get_by_role("button", name="Below Sele").click()
    page.get_by_role("link", name="Sele headwaters").click()
    assert tab.requested.count(tree) == 3
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_label("Below", exact=True).select_option(label="rivers/arrel")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_text("Sele headwaters was moved.").wait_for()
    page.get_by_text("rivers/arrel/sele-headwaters").wait_for()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_label(re.compile("Type")).fill("Sele headwaters")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("Sele headwaters was deleted.").wait_for()
    nodes = seeded_service.caller_for(person("maud")).list_all(f"/platforms/{ids['platform']}/taxonomy-nodes")
    assert "Sele headwaters" not in {each["name"] for each in nodes}


def test_a_space_is_filed_under_a_category_that_was_found_by_its_path(open_tab, seeded_service, ids):
    page = open_tab(user="maud").open(f"/p/{ids['platform']}/taxonomy?q=rivers/dunbeck")
    page.get_by_role("link", name="Dunbeck").click()
    page.get_by_role("button", name="File something").click()
    page.get_by_label("Space", exact=True).select_option(label="Stewards")
    page.get_by_role("dialog").get_by_role("button", name="File").click()
    page.get_by_role("table", name="Filed here").get_by_role("link", name="Stewards").wait_for()
    path = f"/platforms/{ids['platform']}/taxonomy-attachments"
    filed = seeded_service.caller_for(person("maud")).list_all(path, entityType="space", entityId=ids["space"])
    assert len(filed) == 2


def test_a_member_of_the_organization_reads_a_platform_without_a_membership(open_tab, ids):
    page = open_tab(user="bola").open(f"/p/{ids['platform']}/navigation")
    page.get_by_text("Needs editor; ask Maud Ellery").wait_for()
    page.get_by_label("Label").first.wait_for()
    assert page.get_by_label("Label").first.is_disabled()
    assert page.get_by_role("button", name=re.compile("Save|Move|Add")).count() == 0

"""The screens of sites: a page from draft to publication, conflicts, comparison, moves, roles, and hostile content."""

import re
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from local.seed.callers import Caller, Service
from tests.console.scenarios.sites import site_ids
from tests.console.tabs import person

pytestmark = pytest.mark.xdist_group("browser")

ATTACK: Final = "<img src=x onerror=\"document.title='attacked'\">"
SCRIPT_URL: Final = "javascript:document.title='attacked'"


@pytest.fixture
def ids(seeded_service: Service) -> dict[str, str]:
    return site_ids(seeded_service)


@pytest.fixture
def editor(seeded_service: Service) -> Caller:
    return seeded_service.caller_for(person("sunniva"))


def create_page(editor: Caller, ids: dict[str, str], **fields: Any) -> str:
    """Create a page and return its path in the API."""
    page = editor.post(f"/sites/{ids['site']}/pages", {"title": "Levels", **fields})
    return f"/sites/{ids['site']}/pages/{page['id']}"


def text_block(block_id, text):
    return {"id": block_id, "type": "text", "text": text}


def screen_of(page_path):
    return page_path.replace("/sites/", "/s/")


def test_a_page_is_created_written_and_published(open_tab, editor, ids):
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/pages?dialog=create:{ids['page']}")
    page.get_by_role("dialog").get_by_label("Title").fill("Battery")
    page.get_by_role("button", name="Create page").last.click()
    page.get_by_role("combobox", name="Add a block").select_option("text")
    page.get_by_label("Markdown").fill("It lasts *five* years.")
    assert page.locator(".paper").get_by_text("It lasts *five* years.").is_visible()
    assert page.get_by_role("button", name="Publish", exact=True).is_disabled()
    page.get_by_role("button", name="Save draft").click()
    page.get_by_text("The draft is saved, and not published.").wait_for()
    page.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    page.get_by_text("Visitors see this draft.").wait_for()
    stored = editor.get(f"/sites/{ids['site']}/pages/by-path?path=/gauges/dipper/battery")
    assert [block["text"] for block in stored["blocks"]] == ["It lasts *five* years."]


def test_two_drafts_of_a_page_are_merged_field_by_field(open_tab, editor, ids):
    path = create_page(editor, ids, blocks=[text_block("a", "As it was")])
    page = open_tab(user="sunniva").open(screen_of(path))
    page.get_by_label("Markdown").fill("Mine")
    page.get_by_label("Title").fill("My title")
    editor.patch(path, {"title": "Their title", "blocks": [text_block("a", "Theirs")]})
    page.get_by_role("button", name="Save draft").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="Title").get_by_role("radio", name="Theirs").check()
    dialog.get_by_role("group", name="Blocks").get_by_role("radio", name="Yours").check()
    assert editor.get(path)["title"] == "Their title"
    dialog.get_by_role("button", name="Apply").click()
    page.get_by_text("The draft was saved.").wait_for()
    stored = editor.get(path)
    assert (stored["title"], stored["blocks"][0]["text"]) == ("Their title", "Mine")
    page.get_by_role("heading", name="Their title", level=1).wait_for()


def test_settings_of_a_page_stay_in_the_form_while_a_conflict_is_decided(open_tab, editor, ids):
    path = create_page(editor, ids)
    page = open_tab(user="sunniva").open(f"{screen_of(path)}?dialog=settings")
    slug = page.get_by_label("Slug")
    slug.fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    assert slug.evaluate("each => each === document.activeElement && each.validity.valueMissing")
    slug.fill("my-levels")
    page.get_by_label("Title for search engines").fill("Mine")
    theirs = editor.patch(path, {"slug": "their-levels", "seo": {"description": "Theirs."}})
    page.get_by_role("button", name="Save", exact=True).click()
    merge = page.get_by_role("dialog", name="Somebody changed this")
    merge.get_by_role("button", name="Cancel").click()
    assert slug.input_value() == "my-levels"
    page.get_by_role("button", name="Save", exact=True).click()
    merge.get_by_role("group", name="Slug").get_by_role("radio", name="Theirs").check()
    merge.get_by_role("group", name="Title").get_by_role("radio", name="Yours").check()
    merge.get_by_role("button", name="Apply").click()
    page.get_by_text("The page was saved.").wait_for()
    stored = editor.get(path)
    assert (stored["slug"], stored["seo"]["title"], stored["seo"]["description"]) == (theirs["slug"], "Mine", "Theirs.")


def test_a_page_that_somebody_else_changed_is_read_again_if_their_change_is_kept(open_tab, editor, ids):
    path = create_page(editor, ids)
    page = open_tab(user="sunniva").open(screen_of(path))
    page.get_by_label("Title").fill("My title")
    editor.patch(path, {"title": "Their title"})
    page.get_by_role("button", name="Save draft").click()
    page.get_by_role("dialog").get_by_role("radio", name="Theirs").check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The other change was kept.").wait_for()
    page.get_by_role("heading", name="Their title", level=1).wait_for()
    assert page.get_by_label("Title").input_value() == "Their title"


def test_revisions_are_compared_and_restored(open_tab, editor, ids):
    path = create_page(
        editor, ids, blocks=[text_block(name, f"The {name} one") for name in ("first", "second", "third")]
    )
    changed = [
        text_block("third", "The third one"),
        text_block("first", "The very first one"),
        text_block("new", "More"),
    ]
    editor.patch(path, {"blocks": changed})
    page = open_tab(user="sunniva").open(f"{screen_of(path)}/revisions")
    page.get_by_role("link", name="Compare").click()
    page.get_by_text("1 added, 1 removed").wait_for()
    page.get_by_text("1 changed, 1 moved").wait_for()
    assert page.locator("ins").all_inner_texts() == ["very "]
    page.locator("main").get_by_role("link", name="Revisions").click()
    page.get_by_role("button", name=re.compile("^Restore: the revision")).click()
    page.locator("dialog button:focus", has_text="Cancel").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    page.get_by_text("The revision is the draft again.").wait_for()
    assert [block["id"] for block in editor.get(path)["blocks"]] == ["first", "second", "third"]


def test_a_page_is_moved_and_deleted_with_the_pages_below_it(open_tab, editor, ids):
    path = create_page(editor, ids)
    child = create_page(editor, ids, title="Daily", parentId=path.rsplit("/", 1)[1])
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/pages")
    page.get_by_role("button", name="Move: Levels").click()
    page.get_by_role("dialog").get_by_label("Below").select_option(ids["page"])
    page.get_by_role("button", name="Move page").click()
    page.get_by_text("/gauges/dipper/levels/daily").wait_for()
    page.get_by_role("button", name="Below Levels").click()
    page.get_by_text("/gauges/dipper/levels/daily").wait_for(state="detached")
    page.get_by_role("button", name="Delete: Levels").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Daily").wait_for()
    assert dialog.get_by_role("button", name="Delete page").is_disabled()
    dialog.get_by_role("textbox").fill("Levels")
    dialog.get_by_role("button", name="Delete page").click()
    page.get_by_text("Levels was deleted.").wait_for()
    assert editor.find(child) is None


def test_a_menu_that_somebody_else_creates_meanwhile_is_not_replaced(open_tab, editor, ids):
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/menus?dialog=create")
    page.get_by_role("dialog").get_by_label("Id").fill("partners")
    page.get_by_role("dialog").get_by_label("Name").fill("Mine")
    path = f"/sites/{ids['site']}/navigation/partners"
    editor.put(path, {"name": "Theirs", "items": []})
    page.get_by_role("dialog").get_by_role("button", name="Create menu").click()
    page.get_by_role("alert").get_by_text("exists already").wait_for()
    assert editor.get(path)["name"] == "Theirs"


def test_an_item_of_a_menu_is_moved_by_keyboard_below_another(open_tab, editor, ids):
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/menus/footer")
    page.get_by_role("button", name="Move in: Contact").focus()
    page.keyboard.press("Enter")
    # It cannot go further in, so another button of the item has the focus.
    expect(page.get_by_role("button", name="Move out: Contact")).to_be_focused()
    page.get_by_role("button", name="Save menu").click()
    page.get_by_text("The menu was saved.").wait_for()
    items = editor.get(f"/sites/{ids['site']}/navigation/footer")["items"]
    assert [child["id"] for child in items[0]["children"]] == ["contact"]


def test_a_page_leads_back_to_all_pages_and_its_facts_fit_a_phone(open_tab, ids):
    page = open_tab(user="sunniva", width=390).open(f"/s/{ids['site']}/pages/{ids['page']}")
    page.get_by_text("Published, draft changed").wait_for()
    widths = page.locator(".tile").evaluate_all("all => all.map((each) => [each.scrollWidth, each.clientWidth])")
    assert all(content <= available for content, available in widths), widths
    assert page.locator(".tile time").evaluate_all("all => all.map((each) => each.getClientRects().length)") == [1]
    page.get_by_role("link", name="Pages").click()
    page.get_by_role("heading", name="Pages", level=1).wait_for()


def test_the_navigation_marks_the_list_of_what_is_shown(open_tab, ids):
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/pages/{ids['page']}")
    current = page.get_by_role("navigation").locator("[aria-current]")
    expect(current).to_have_text("Pages")
    expect(current).to_have_attribute("aria-current", "true")
    current.click()
    expect(current).to_have_attribute("aria-current", "page")


def test_a_redirect_that_makes_a_loop_is_a_problem_of_the_form(open_tab, editor, ids):
    editor.post(f"/sites/{ids['site']}/redirects", {"fromPath": "/one", "toPath": "/two"})
    page = open_tab(user="sunniva").open(f"/s/{ids['site']}/redirects?dialog=create")
    page.get_by_label("From").fill("/two")
    page.get_by_label("To", exact=False).last.fill("/one")
    page.get_by_role("button", name="Create redirect").last.click()
    page.locator('[aria-invalid="true"]').wait_for()


def test_a_member_reads_everything_and_changes_nothing(open_tab, ids):
    tab = open_tab(user="hattie")
    for path in ("", "/pages", f"/pages/{ids['page']}", f"/pages/{ids['page']}/revisions", "/menus/main", "/redirects"):
        page = tab.open(f"/s/{ids['site']}{path}")
        page.get_by_text("Needs editor; ask Maud Ellery.").wait_for()
        buttons = page.locator("main").get_by_role("button").all_inner_texts()
        assert not {"Edit", "Delete", "Move", "Save draft", "Save menu", "Publish", "Restore"} & set(buttons), path


def test_a_preview_link_is_shown_once_and_ends_with_the_others(open_tab, api, editor, ids):
    path = create_page(editor, ids)
    page = open_tab(user="sunniva").open(f"{screen_of(path)}?dialog=preview")
    page.get_by_role("button", name="Create link").click()
    link = page.locator(".secret code").inner_text()
    opened = page.get_by_role("link", name="Open the preview")
    assert (opened.get_attribute("href"), opened.get_attribute("rel")) == (link, "noopener noreferrer")
    target = link[link.index("/sites/") :]
    assert api.request("GET", target).status == 200
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Preview link").click()
    page.get_by_role("button", name="End all links of this page").click()
    page.get_by_role("button", name="End links").click()
    page.get_by_text("have ended.").wait_for()
    assert api.request("GET", target).status == 404


def test_hostile_content_stays_text(open_tab, editor, ids):
    blocks = [
        {"id": "heading", "type": "heading", "level": 2, "text": ATTACK},
        text_block("text", f"[link]({SCRIPT_URL}) {ATTACK}"),
        {"id": "code", "type": "code", "text": f"</script>{ATTACK}"},
        {"id": "custom", "type": "custom", "data": {"__proto__": {"url": SCRIPT_URL}, "html": ATTACK}},
    ]
    path = create_page(editor, ids, title=ATTACK, slug="attack", blocks=blocks)
    editor.patch(path, {"title": f"{ATTACK}2", "blocks": [*reversed(blocks)]})
    editor.put(
        f"/sites/{ids['site']}/navigation/attack",
        {"name": ATTACK, "items": [{"id": "a", "label": ATTACK, "type": "group"}]},
    )
    tab = open_tab(user="sunniva")
    revisions = editor.list_all(f"{path}/revisions")
    comparison = f"{screen_of(path)}/revisions?from={revisions[1]['id']}&to={revisions[0]['id']}"
    for screen in (
        f"/s/{ids['site']}/pages",
        screen_of(path),
        f"{screen_of(path)}/revisions",
        comparison,
        f"/s/{ids['site']}/menus/attack",
    ):
        page = tab.open(screen)
        page.get_by_role("heading", level=1).wait_for()
        page.locator(".skeleton").first.wait_for(state="detached")
        assert page.locator("main img, main script").count() == 0, screen
        assert page.locator('a[href^="javascript:" i]').count() == 0, screen
        assert page.title() != "attacked", screen


def test_an_address_that_is_a_script_is_refused_at_its_field_and_never_a_link(open_tab, editor, ids):
    path = create_page(
        editor, ids, blocks=[{"id": "go", "type": "button", "label": "Go", "url": "https://example.com/"}]
    )
    page = open_tab(user="sunniva").open(screen_of(path))
    assert page.locator(".paper a").get_attribute("href") == "https://example.com/"
    page.get_by_label("Address").fill(SCRIPT_URL)
    page.locator(".paper").get_by_text(SCRIPT_URL).wait_for()
    assert page.locator(".paper a").count() == 0
    page.get_by_role("button", name="Save draft").click()
    address = page.get_by_label("Address")
    expect(address).to_be_focused()
    assert address.get_attribute("aria-invalid") == "true"
    assert address.input_value() == SCRIPT_URL

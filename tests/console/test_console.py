"""The console in a browser: signing in, members, invitations, conflicts, roles, failures and accessibility."""

import json
import re
from typing import Final

import pytest

from local.seed.callers import Service
from tests.console.tabs import ISSUER_URL, ORIGIN, person
from tests.harness.api import STAGE_PATH
from tests.harness.browser import accessibility_violations, save_screenshot

pytestmark = pytest.mark.xdist_group("browser")

PROBLEM_HEADERS: Final = {"Content-Type": "application/problem+json", "X-Request-Id": "request-1"}


@pytest.fixture
def organization_id(seeded_service: Service) -> str:
    return seeded_service.caller_for(person("maud")).list_all("/organizations")[0]["id"]


def user_id_of(service, username):
    return service.caller_for(person(username)).get("/me")["id"]


def role_of(service, organization_id, username):
    path = f"/organizations/{organization_id}/members/{user_id_of(service, username)}"
    return service.caller_for(person("maud")).get(path)["role"]


def open_role_dialog(page, name):
    page.get_by_role("button", name=f"Change role: {name}").click()
    page.get_by_role("radio", name=re.compile("Editor")).wait_for()


def test_signing_in_leads_to_the_issuer_and_back_to_the_same_screen(open_tab, organization_id):
    tab = open_tab()
    page = tab.open(f"/o/{organization_id}/members?role=x")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="maud").click()
    page.get_by_role("heading", name="Members").wait_for()
    assert page.url == f"{ORIGIN}{STAGE_PATH}/console#/o/{organization_id}/members?role=x"
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{ISSUER_URL}/logout**")


def test_a_failed_sign_in_says_why(open_tab):
    page = open_tab().page
    page.goto(f"{ORIGIN}{STAGE_PATH}/console?error=access_denied&state=unknown")
    page.get_by_role("alert").get_by_text("This tab did not start signing in").wait_for()
    assert "state" not in page.url


def test_an_expired_token_keeps_the_address_and_the_typed_text(open_tab, organization_id):
    tab = open_tab(user="maud")
    page = tab.open(f"/o/{organization_id}/invitations?dialog=invite")
    page.get_by_label("E-mail address").fill("wren@example.com")
    body = json.dumps({"status": 401, "code": "token_expired", "detail": "The token has expired."})
    tab.failures[f"POST /organizations/{organization_id}/invite"] = (401, PROBLEM_HEADERS, body)
    page.get_by_role("button", name="Send invitation").click()
    page.get_by_role("link", name="maud").click()
    page.get_by_role("dialog").wait_for()
    assert page.get_by_label("E-mail address").input_value() == "wren@example.com"


def test_somebody_is_invited_by_a_link_and_accepts_with_a_button(open_tab, organization_id):
    page = open_tab(user="maud").open(f"/o/{organization_id}/invitations?dialog=invite")
    page.get_by_label("E-mail address").fill("stranger@example.com")
    page.get_by_role("radio", name=re.compile("Editor")).check()
    page.get_by_role("button", name="Send invitation").click()
    link = page.locator(".secret code").inner_text()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").is_visible()  # It is not shown again, so it does not close by accident.
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    token = link.split("token=")[1]

    tab = open_tab()
    page = tab.open_hosted(f"/invitation?token={token}")
    page.get_by_role("heading", name="Join Harrowmere Instruments").wait_for()
    assert token not in page.url
    assert "Maud Ellery" in page.locator("dl").inner_text()
    page.get_by_role("button", name="Sign in to answer").click()
    page.get_by_role("link", name="stranger").click()
    assert not [each for each in tab.requested if each.startswith("POST")]
    page.get_by_role("button", name="Accept").click()
    page.get_by_role("heading", name="You joined Harrowmere Instruments").wait_for()
    page.get_by_role("link", name="Open the console").click()
    page.get_by_role("link", name="Harrowmere Instruments").first.wait_for()


def create_invitation_token(service, organization_id):
    path = f"/organizations/{organization_id}/invite"
    invitation = service.caller_for(person("maud")).post(path, {"email": "stranger@example.com"})
    return invitation["acceptUrl"].split("token=")[1], invitation


def test_an_invitation_to_another_address_and_to_a_member_say_what_is_in_the_way(
    open_tab, seeded_service, organization_id
):
    token, _ = create_invitation_token(seeded_service, organization_id)
    page = open_tab(user="hattie").open_hosted(f"/invitation?token={token}")
    page.get_by_text("You are signed in with another address").wait_for()
    assert page.get_by_role("button", name="Accept").count() == 0


@pytest.mark.parametrize(("end", "text"), [("revoke", "was revoked"), ("decline", "already answered")])
def test_an_invitation_that_has_ended_says_so(open_tab, seeded_service, organization_id, api, end, text):
    token, invitation = create_invitation_token(seeded_service, organization_id)
    if end == "revoke":
        headers = {"Authorization": f"Bearer {seeded_service.create_token(person('maud'))}"}
        path = f"/organizations/{organization_id}/invitations/{invitation['id']}"
        api.request("DELETE", path, headers=headers).expect(204)
    else:
        stranger = seeded_service.caller_for(person("stranger"))
        stranger.post("/organizations/invitations/acceptance", {"token": token, "decision": "decline"})
    page = open_tab(user="stranger").open_hosted(f"/invitation?token={token}")
    page.get_by_role("heading", name="This link no longer works").wait_for()
    page.get_by_text(text).wait_for()


def test_a_link_without_a_token_says_so(open_tab):
    page = open_tab().open_hosted("/invitation")
    page.get_by_role("heading", name="No invitation").wait_for()


def test_an_admin_changes_a_role(open_tab, seeded_service, organization_id):
    page = open_tab(user="ines").open(f"/o/{organization_id}/members")
    open_role_dialog(page, "Hattie Thornbeck")
    page.get_by_role("radio", name=re.compile("Editor")).check()
    page.get_by_role("dialog").get_by_role("button", name="Change role").click()
    page.get_by_text("The role of Hattie Thornbeck was changed.").wait_for()
    assert role_of(seeded_service, organization_id, "hattie") == "editor"


@pytest.mark.parametrize(("kept", "role"), [("Yours", "editor"), ("Theirs", "admin")])
def test_an_edit_by_a_second_client_is_never_overwritten_silently(
    open_tab, seeded_service, organization_id, api, kept, role
):
    page = open_tab(user="ines").open(f"/o/{organization_id}/members")
    open_role_dialog(page, "Hattie Thornbeck")
    page.get_by_role("radio", name=re.compile("Editor")).check()
    headers = {"Authorization": f"Bearer {seeded_service.create_token(person('maud'))}"}
    path = f"/organizations/{organization_id}/members/{user_id_of(seeded_service, 'hattie')}"
    api.request("PATCH", path, json={"role": "admin"}, headers=headers).expect(200)
    page.get_by_role("dialog").get_by_role("button", name="Change role").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    texts = page.locator(".merge .value").all_inner_texts()
    assert texts == ["Editor", "Admin", "Member"]
    assert role_of(seeded_service, organization_id, "hattie") == "admin"
    page.get_by_role("radio", name=kept).check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    assert role_of(seeded_service, organization_id, "hattie") == role


def test_members_are_found_by_any_part_of_their_name_and_ordered_by_it(open_tab, organization_id):
    page = open_tab(user="maud").open(f"/o/{organization_id}/members")
    page.get_by_text("Tomas Verrin").wait_for()
    page.get_by_label("Order").select_option("-name")
    page.wait_for_url("**sort=-name**")
    page.locator("tbody tr").first.filter(has_text="Łucja").wait_for()
    page.get_by_label("Search").fill("verr")
    page.locator("tbody tr:only-child").filter(has_text="Tomas Verrin").wait_for()
    page.get_by_label("Search").fill("nobody")
    page.get_by_text("No member is found").wait_for()
    page.get_by_text("Try the beginning of another word.").wait_for()
    assert page.get_by_placeholder("Name, username or address").count() == 1


def test_ownership_moves_only_after_the_name_was_typed(open_tab, seeded_service, organization_id):
    page = open_tab(user="maud").open(f"/o/{organization_id}/members")
    page.get_by_role("button", name="Make owner: Ines Calloway").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Make owner")
    assert confirm.is_disabled()
    page.get_by_label(re.compile("Type")).fill("Harrowmere Instruments")
    confirm.click()
    page.get_by_text("Ines Calloway is the owner now.").wait_for()
    assert role_of(seeded_service, organization_id, "ines") == "owner"


def test_a_member_reads_and_is_told_who_can_change(open_tab, organization_id):
    page = open_tab(user="hattie").open(f"/o/{organization_id}/members")
    page.get_by_text("Needs admin; ask Maud Ellery").wait_for()
    page.get_by_text("Tomas Verrin").wait_for()
    assert page.get_by_role("button", name=re.compile("Change role|Remove")).count() == 0


def test_a_screen_that_the_role_does_not_open_says_who_opens_it(open_tab, organization_id):
    tab = open_tab(user="hattie")
    page = tab.open(f"/o/{organization_id}/invitations")
    page.get_by_text("Needs admin; ask Maud Ellery").wait_for()
    assert not [each for each in tab.requested if each.endswith("/invitations")]


def test_a_stranger_sees_nothing(open_tab, organization_id):
    page = open_tab(user="stranger").open(f"/o/{organization_id}/members")
    page.get_by_role("heading", name="Nothing here that you can see").wait_for()
    assert "Harrowmere" not in page.content()


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (503, "unavailable")])
def test_a_read_that_fails_shows_its_request_and_can_be_repeated(open_tab, organization_id, status, code):
    tab = open_tab(user="maud")
    path = f"GET /organizations/{organization_id}/members"
    body = json.dumps({"status": status, "code": code, "detail": "Not now.", "requestId": "request-1"})
    tab.failures[path] = (status, PROBLEM_HEADERS, body)
    page = tab.open(f"/o/{organization_id}/members")
    page.get_by_text("request-1").wait_for()
    page.get_by_text(code).wait_for()
    assert tab.requested.count(path) == 3  # It was repeated twice.
    del tab.failures[path]
    page.get_by_role("button", name="Try again", exact=True).click()
    page.get_by_text("Tomas Verrin").wait_for()


def test_a_read_that_has_to_wait_counts_down_and_repeats_by_itself(open_tab, organization_id):
    tab = open_tab(user="maud")
    path = f"GET /organizations/{organization_id}/members"
    body = json.dumps({"status": 503, "code": "unavailable", "detail": "Not now.", "requestId": "request-1"})
    tab.failures[path] = (503, {**PROBLEM_HEADERS, "Retry-After": "6"}, body)
    page = tab.open(f"/o/{organization_id}/members")
    page.get_by_role("button", name=re.compile(r"Try again in [1-6] s")).wait_for()
    assert tab.requested.count(path) == 1
    del tab.failures[path]
    page.get_by_text("Tomas Verrin").wait_for()


def test_problems_appear_at_their_fields_and_the_first_gets_the_focus(open_tab, organization_id):
    page = open_tab(user="maud").open(f"/o/{organization_id}/invitations?dialog=invite")
    page.get_by_label("E-mail address").fill("nobody")
    page.get_by_role("button", name="Send invitation").click()
    field = page.locator("input[aria-invalid=true]")
    field.wait_for()
    assert field.evaluate("each => each === document.activeElement")


def test_offline_is_shown_and_the_data_stays(open_tab, organization_id):
    page = open_tab(user="maud").open(f"/o/{organization_id}/members")
    page.get_by_text("Tomas Verrin").wait_for()
    page.context.set_offline(True)
    page.get_by_text("You are offline").wait_for()
    assert page.get_by_text("Tomas Verrin").is_visible()


def test_a_role_is_changed_with_the_keyboard_alone(open_tab, seeded_service, organization_id):
    page = open_tab(user="ines").open(f"/o/{organization_id}/members")
    page.get_by_role("button", name="Change role: Bola Adeyinka").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("radio").first.wait_for()
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.type") != "radio":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("The role of Bola Adeyinka was changed.").wait_for()
    assert role_of(seeded_service, organization_id, "bola") == "editor"
    page.wait_for_function("document.activeElement.ariaLabel === 'Change role: Bola Adeyinka'")


def test_the_sign_in_and_invitation_pages_are_accessible(open_tab, seeded_service, organization_id):
    token, _ = create_invitation_token(seeded_service, organization_id)
    for color_scheme, width in (("light", 1280), ("dark", 390)):
        tab = open_tab(color_scheme=color_scheme, width=width)
        for name, open_page in (
            ("sign-in", lambda tab=tab: tab.open("/")),
            ("invitation", lambda tab=tab: tab.open_hosted(f"/invitation?token={token}")),
        ):
            page = open_page()
            page.get_by_role("heading", level=1).wait_for()
            assert accessibility_violations(page) == []
            save_screenshot(page, f"console-{name}-{color_scheme}-{width}")

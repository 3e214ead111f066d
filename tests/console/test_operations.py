"""What operators do in the console, and members with research and reference data."""

import re
from typing import Any

import pytest

from local.seed.content.leads import OPERATOR
from local.seed.leads import operator_caller
from tests.console.scenarios.operations import research_records
from tests.console.tabs import person
from tests.harness.dead_letters import put_dead_letter
from tests.harness.reference_data import load_small_dataset
from tests.harness.research_records import ARTEFACT_ID, OUTPUT_ID

pytestmark = pytest.mark.xdist_group("browser")

HOSTILE = "<img src=x onerror=alert(1)>"


def find_lead(service, name):
    leads = operator_caller(service).list_all("/marketing-leads")
    return next(each for each in leads if each["contactName"] == name)


def open_move_dialog(page, name):
    page.get_by_role("button", name=f"Move: {name}").click()
    page.get_by_role("dialog").get_by_role("radio").first.wait_for()


def test_somebody_who_is_no_operator_is_told_so(open_tab, seeded_service):
    tab = open_tab(user="maud")
    page = tab.open("/operate/leads")
    page.get_by_text("Needs an operator of the service.").wait_for()
    assert not [each for each in tab.requested if "marketing-leads" in each]


def test_an_operator_moves_a_lead_with_a_note(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/leads")
    open_move_dialog(page, "Solveig Dahlmark")
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_role("button", name="Save").is_disabled()
    assert dialog.get_by_role("radio").count() == 5  # Converted and qualified do not follow new.
    dialog.get_by_role("radio", name="Contacted").check()
    dialog.get_by_label(re.compile("Note")).fill("Called her.")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_text("Solveig Dahlmark was changed.").wait_for()
    page.get_by_role("region", name="Contacted").get_by_text("Solveig Dahlmark").wait_for()
    lead = find_lead(seeded_service, "Solveig Dahlmark")
    assert (lead["status"], lead["notes"][0]["text"]) == ("contacted", "Called her.")
    page.get_by_role("button", name="Details: Solveig Dahlmark").click()
    page.get_by_role("dialog").get_by_text("Called her.").wait_for()
    page.get_by_role("dialog").get_by_text("by you").first.wait_for()


@pytest.mark.parametrize(("kept", "status", "notes"), [("Yours", "unqualified", ["No."]), ("Theirs", "qualified", [])])
def test_a_lead_that_somebody_else_moved_is_not_moved_silently(open_tab, seeded_service, kept, status, notes):
    page = open_tab(user=OPERATOR).open("/operate/leads")
    open_move_dialog(page, "Corwin Hatherley")
    lead = find_lead(seeded_service, "Corwin Hatherley")
    known_notes = [each["text"] for each in lead["notes"]]
    page.get_by_role("radio", name="Unqualified").check()
    page.get_by_label(re.compile("Note")).fill("No.")
    operator_caller(seeded_service).patch(f"/marketing-leads/{lead['id']}/status", {"status": "qualified"})
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    assert find_lead(seeded_service, "Corwin Hatherley")["status"] == "qualified"
    for choice in page.get_by_role("radio", name=kept).all():
        choice.check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").first.wait_for(state="detached")
    lead = find_lead(seeded_service, "Corwin Hatherley")
    assert (lead["status"], [each["text"] for each in lead["notes"]]) == (status, known_notes + notes)


def test_what_the_public_submits_is_shown_as_text(open_tab, seeded_service):
    body = {
        "contactName": HOSTILE,
        "contactEmail": "x@example.com",
        "source": "javascript:alert(1)",
        "message": HOSTILE,
    }
    lead = operator_caller(seeded_service).post("/marketing-leads", body)
    page = open_tab(user=OPERATOR).open(f"/operate/leads?dialog=lead:{lead['id']}")
    page.get_by_role("heading", name=HOSTILE).wait_for()
    page.get_by_role("dialog").get_by_text("javascript:alert(1)").wait_for()
    assert page.locator("main img").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0


def test_a_service_key_is_shown_once_and_revoked_after_its_name_was_typed(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/service-keys?dialog=create")
    page.get_by_label("Name").fill("Invoicing")
    page.get_by_label(re.compile("Event types")).fill("invoice.*\n\nbilling.paid")
    page.get_by_role("button", name="Create", exact=True).click()
    secret = page.locator(".secret code").inner_text()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Revoke: Invoicing").click()
    assert secret not in page.content()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Revoke")
    assert confirm.is_disabled()
    page.get_by_label(re.compile("Type")).fill("Invoicing")
    confirm.click()
    page.get_by_text("Invoicing was revoked.").wait_for()
    [key] = operator_caller(seeded_service).list_all("/system/service-keys")
    assert (key["status"], key["types"]) == ("revoked", ["invoice.*", "billing.paid"])


def test_a_service_key_is_rotated_and_its_new_secret_is_shown_once(open_tab, seeded_service):
    operator = operator_caller(seeded_service)
    key = operator.post("/system/service-keys", {"name": "Invoicing"})
    page = open_tab(user=OPERATOR).open("/operate/service-keys")
    page.get_by_role("button", name="Rotate: Invoicing").click()
    page.get_by_label("Hours for which the former secret still works").fill("48")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    assert page.locator(".secret code").inner_text() != key["key"]
    assert operator.get(f"/system/service-keys/{key['id']}")["formerSecretsUntil"] is not None


def test_an_edition_is_fetched_in_the_background(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/backfill")
    page.get_by_role("button", name="Backfill: Conference on Neural Information Processing Systems").click()
    page.get_by_label("Edition", exact=True).select_option("2024")
    page.get_by_role("dialog").get_by_role("button", name="Backfill").click()
    page.get_by_role("dialog").get_by_text("Queued").wait_for()


def test_dead_letters_are_sent_back_and_the_progress_is_shown(open_tab, seeded_service, workers):
    put_dead_letter("jobs", {"task": "erasures.run", "pk": "O#gone", "sk": "#"})
    put_dead_letter("jobs", {"task": HOSTILE, "pk": "O#gone", "sk": "#"})
    page = open_tab(user=OPERATOR).open("/operate/dead-letters")
    page.get_by_text(HOSTILE).wait_for()
    page.get_by_role("button", name="Send back: jobs").click()
    page.get_by_role("dialog").get_by_role("button", name="Send back").click()
    page.get_by_role("dialog").get_by_text("0 of at most 1000").wait_for()
    workers.deliver()
    page.get_by_role("dialog").get_by_text("1 of at most 1000").wait_for()  # The dialog reads the redrive again.
    page.get_by_role("dialog").get_by_text("Completed").wait_for()


def test_a_verification_of_all_logs_is_started_and_its_progress_is_shown(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/log-verifications")
    page.get_by_role("heading", name="The logs have not been verified yet").wait_for()
    page.get_by_role("button", name="Verify all logs").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Verify").click()
    page.get_by_role("dialog").get_by_text("Queued").wait_for()
    [verification] = operator_caller(seeded_service).list_all("/system/log-verifications")
    assert verification["id"] in page.url


def test_an_organization_is_found_by_its_slug_and_opened_by_members_only(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/organizations")
    page.get_by_label("Search").fill("no-such")
    page.get_by_role("heading", name="No organization is found").wait_for()
    page.get_by_label("Search").fill("harrow")
    page.get_by_role("link", name="Harrowmere Instruments").click()
    assert "q=harrow" in page.url
    page.get_by_text("You are no member of this organization.").wait_for()
    assert page.get_by_role("link", name=re.compile("Open as")).count() == 0


def test_the_system_log_is_filtered_and_exported(open_tab, seeded_service):
    page = open_tab(user=OPERATOR).open("/operate/audit-log")
    page.get_by_label("Event type").fill("lead.status_changed")
    page.wait_for_url("**type=lead.status_changed")
    page.get_by_role("button", name="lead.created").first.wait_for(state="detached")
    page.get_by_role("button", name="lead.status_changed").nth(1).wait_for()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    lines = download.value.path().read_text().splitlines()
    assert lines
    assert all('"lead.status_changed"' in line for line in lines)


def test_a_member_imports_into_their_own_library_only(open_tab, seeded_service):
    page = open_tab(user="hattie").open("/research?dialog=import")
    library = page.get_by_label("Library")
    library.locator("option:disabled").wait_for(state="attached")
    assert library.locator("option:disabled").all_inner_texts() == ["Harrowmere Instruments, needs editor"]
    page.get_by_label("Researcher").last.fill("0000-0002-1825-0097")
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    page.get_by_role("dialog").get_by_text("Queued").wait_for()
    [job] = seeded_service.caller_for(person("hattie")).list_all("/research/jobs")
    assert (job["researcherId"], job["organizationId"]) == ("0000-0002-1825-0097", None)


def test_a_work_shows_the_source_of_each_field(open_tab, seeded_service):
    research_records(seeded_service)
    page = open_tab(user="hattie").open("/research")
    page.get_by_role("link", name="Cracks in Kilns, Learned from Shards").click()
    page.get_by_role("link", name="10.5555/3000000").wait_for()
    assert OUTPUT_ID in page.url
    page.get_by_role("button", name="Source of title").click()
    page.get_by_role("dialog").get_by_text("conf/nips/WareC25").first.wait_for()
    assert ARTEFACT_ID in page.url


def test_reference_data_are_searched_and_shown(open_tab, seeded_service):
    load_small_dataset()
    tab: Any = open_tab(user="hattie")
    page = tab.open("/reference")
    page.get_by_role("button", name="Andorra").click()
    page.get_by_role("dialog").get_by_text("AND", exact=True).wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="Currencies").click()
    page.get_by_label("Search").fill("no such currency")
    page.get_by_role("heading", name="No currency is found").wait_for()

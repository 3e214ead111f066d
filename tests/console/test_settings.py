"""API keys, settings, erasures, domains, the summary and the invitations to the user, in a browser."""

import re

import pytest

from tests.console.tabs import person
from tests.harness.domains import publish_dns_records

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def maud(seeded_service):
    return seeded_service.caller_for(person("maud"))


@pytest.fixture
def place(maud):
    """The path of the sample organization in the console."""
    return f"/o/{maud.list_all('/organizations')[0]['id']}"


@pytest.fixture
def path(place):
    """The path of the sample organization in the API."""
    return place.replace("/o/", "/organizations/")


def test_a_key_is_created_with_scopes_and_its_secret_is_shown_once(open_tab, maud, place, path):
    page = open_tab(user="maud").open(f"{place}/api-keys?dialog=create")
    page.get_by_label("Name").fill("Deployment")
    page.get_by_role("radio", name=re.compile("^None")).check()
    assert page.get_by_role("dialog").get_by_role("button", name="Create API key").is_disabled()
    page.get_by_role("radio", name="Sites: write").check()
    page.get_by_role("radio", name="Audit log: read").check()
    assert page.get_by_role("radio", name="Audit log: write").count() == 0
    page.get_by_label("Allowed networks").fill("192.0.2.0/24\n198.51.100.7/32")
    page.get_by_role("dialog").get_by_role("button", name="Create API key").click()
    secret = page.locator(".secret code").inner_text()
    assert secret.startswith("atr_")
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").is_visible()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Rotate: Deployment").wait_for()
    assert secret not in page.content()
    (key,) = [each for each in maud.list_all(f"{path}/api-keys") if each["name"] == "Deployment"]
    assert sorted(key["scopes"]) == ["audit-log:read", "sites:write"]
    assert key["allowedIps"] == ["192.0.2.0/24", "198.51.100.7/32"]
    assert key["expiresAt"] is not None


def test_a_wrong_network_is_shown_at_its_field(open_tab, place):
    page = open_tab(user="maud").open(f"{place}/api-keys?dialog=create")
    page.get_by_label("Name").fill("Deployment")
    page.get_by_label("Allowed networks").fill("nowhere")
    page.get_by_role("dialog").get_by_role("button", name="Create API key").click()
    page.locator("textarea[aria-invalid=true]").wait_for()


def test_a_key_is_rotated_with_an_overlap_and_revoked_by_its_name(open_tab, maud, place, path):
    page = open_tab(user="maud").open(f"{place}/api-keys")
    page.get_by_role("button", name="Rotate: Nightly export").click()
    page.get_by_label("The former secret still works for").select_option("168")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("Former secret until").wait_for()
    page.get_by_role("button", name="Revoke: Nightly export").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Revoke")
    assert confirm.is_disabled()
    page.get_by_label(re.compile("Type")).fill("Nightly export")
    confirm.click()
    page.get_by_text("The API key Nightly export was revoked.").wait_for()
    (key,) = [each for each in maud.list_all(f"{path}/api-keys") if each["name"] == "Nightly export"]
    assert key["status"] == "revoked"


@pytest.mark.parametrize(("kept", "name"), [("Yours", "Harrowmere Gauges"), ("Theirs", "Harrowmere Limited")])
def test_settings_that_somebody_else_changed_are_merged(open_tab, maud, api, seeded_service, place, path, kept, name):
    page = open_tab(user="maud").open(f"{place}/settings")
    page.get_by_label("Name", exact=True).fill("Harrowmere Gauges")
    page.get_by_label("Country").fill("DE")
    headers = {"Authorization": f"Bearer {seeded_service.create_token(person('ines'))}"}
    api.request("PATCH", path, json={"name": "Harrowmere Limited", "supportEmail": "help@example.com"}, headers=headers)
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", name="Somebody changed this while you were editing").wait_for()
    assert maud.get(path)["name"] == "Harrowmere Limited"
    fields = page.get_by_role("dialog").locator("fieldset")
    fields.filter(has_text="Name").get_by_role("radio", name=kept).check()
    fields.filter(has_text="Country").get_by_role("radio", name="Yours").check()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The settings were saved.").wait_for()
    saved = maud.get(path)
    assert (saved["name"], saved["companyCountry"], saved["supportEmail"]) == (name, "DE", "help@example.com")


def test_an_organization_is_deleted_only_after_its_name_was_typed_and_restored(open_tab, maud, place, path):
    page = open_tab(user="maud").open(f"{place}/settings")
    page.get_by_role("button", name="Delete organization").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Delete organization")
    assert confirm.is_disabled()
    page.get_by_label(re.compile("Type")).fill("Harrowmere Instruments")
    confirm.click()
    page.get_by_text("Harrowmere Instruments was deleted.").wait_for()
    assert maud.list_all("/organizations", status="pending_deletion")[0]["id"] in path
    page.get_by_role("link", name="Deleted organizations").click()
    page.get_by_role("button", name="Restore: Harrowmere Instruments").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    page.get_by_role("link", name="Harrowmere Instruments").wait_for()
    assert maud.get(path)["status"] == "active"


def test_a_member_reads_settings_and_is_told_who_opens_the_rest(open_tab, place):
    tab = open_tab(user="hattie")
    page = tab.open(f"{place}/settings")
    page.get_by_text("Needs admin; ask Maud Ellery").wait_for()
    assert page.get_by_label("Name", exact=True).is_disabled()
    assert page.get_by_role("button", name=re.compile("Save|Delete")).count() == 0
    tab.open(f"{place}/erasures").get_by_text("Needs owner; ask Maud Ellery").wait_for()
    tab.open(f"{place}/api-keys").get_by_text("Needs admin; ask Maud Ellery").wait_for()
    assert not [each for each in tab.requested if each.endswith(("/erasures", "/api-keys"))]


def test_a_person_is_erased_after_the_address_was_typed_again(open_tab, maud, place, path):
    page = open_tab(user="maud").open(f"{place}/erasures?dialog=erase")
    page.get_by_label("E-mail address", exact=True).fill("nobody@example.com")
    confirm = page.get_by_role("dialog").get_by_role("button", name="Erase")
    assert confirm.is_disabled()
    page.get_by_label("Type nobody@example.com to confirm").fill("nobody@example.com")
    confirm.click()
    page.get_by_text("The erasure has started.").wait_for()
    (erasure,) = maud.list_all(f"{path}/erasures")
    page.get_by_text(erasure["id"]).wait_for()


def test_domains_are_read_again_until_they_are_verified(open_tab, maud, place, path, nameserver):
    (domain,) = [each for each in maud.list_all(f"{path}/domains/inventory") if each["customDomain"]]
    page = open_tab(user="hattie").open(f"{place}/domains")
    page.get_by_role("button", name=f"DNS records: {domain['customDomain']}").click()
    page.get_by_role("dialog").get_by_text("_atrium-challenge").first.wait_for()
    custom_domain = f"/platforms/{domain['platformId']}/custom-domain"
    publish_dns_records(nameserver, maud.get(custom_domain))
    maud.post(f"{custom_domain}/verify", {})
    page.get_by_role("dialog").get_by_text("Correct").first.wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.locator("table .status", has_text="Verified").wait_for()


def test_the_summary_leads_to_its_screens(open_tab, maud, place, path):
    summary = maud.get(f"{path}/summary")
    page = open_tab(user="maud").open(place)
    members = page.locator(".tile", has_text="Members").get_by_role("link")
    members.wait_for()
    assert members.inner_text() == str(summary["members"]["total"])
    size = summary["log"]["size"] + summary["log"]["pendingEntries"]
    assert page.locator(".tile", has_text="Entries of the log").get_by_role("link").inner_text() == str(size)
    page.locator(".tile", has_text="Pending invitations").get_by_role("link").click()
    page.get_by_role("heading", name="Invitations").wait_for()
    assert page.url.endswith("status=pending")


@pytest.mark.parametrize(("answer", "joins"), [("Accept", True), ("Decline", False)])
def test_an_invitation_is_answered_on_the_start_page(open_tab, maud, seeded_service, path, answer, joins):
    maud.post(f"{path}/invite", {"email": "stranger@example.com"})
    page = open_tab(user="stranger").open("/")
    page.get_by_role("button", name=f"{answer}: Harrowmere Instruments").click()
    page.get_by_text("You joined." if joins else "The invitation was declined.").wait_for()
    organizations = seeded_service.caller_for(person("stranger")).list_all("/organizations")
    assert bool(organizations) is joins

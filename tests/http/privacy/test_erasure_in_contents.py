"""Erasures in contents: texts, settings, which can contain anything, and what webhooks and channels store."""

import json
from typing import Final

import pytest

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.features.privacy.erasures import tasks
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.pii import PersonIdentifiers
from tests.harness import memory_aws
from tests.harness.channels import create_channel
from tests.harness.erasures import keys_of_items_containing
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import SOPHIE_EMAIL as SOPHIE
from tests.harness.invitations import accept_invitation, create_invitation
from tests.harness.menus import page_item, put_menu, url_item
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Reply
from tests.harness.sites import create_published_page, create_site, get_page_by_path, update_page
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.webhooks import create_webhook, get_webhook, list_deliveries, rename_organization, update_webhook

TEXT: Final = f"Ask {SOPHIE}."
REDACTED: Final = "Ask …."


class TestOrganization:
    @pytest.mark.parametrize("address", ["josé@example.org", "зоя@example.org", 'a"b\\c@example.org'])
    def test_an_address_is_removed_in_any_encoding_and_case(self, api, organization, ada, erase, address):
        upper_case_address = "".join(letter.upper() if letter.isascii() else letter for letter in address)
        create_invitation(api, organization, upper_case_address, message=f"For you ({upper_case_address})!")
        api.patch(organization.path, caller=ada, json={"companyAddress": f"c/o {address}"})
        erase(email=address)
        encoded_addresses = [json.dumps(address, ensure_ascii=ensure_ascii)[1:-1] for ensure_ascii in (True, False)]
        assert keys_of_items_containing(address, *encoded_addresses) == []

    def test_only_the_address_is_redacted_in_a_text(self, api, organization, ada, stranger, erase):
        text = "Ask SOPHIE@Example.org, or sophie@example.org.\nNot anna-sophie@example.org."
        redacted_text = "Ask …, or ….\nNot anna-sophie@example.org."
        texts = {
            "name": (SOPHIE, "…"),
            "companyName": (f"<{SOPHIE}>", "<…>"),
            "companyLegalName": ("Engines", "Engines"),
            "companyId": (f"'{SOPHIE}'", "'…'"),
            "companyAddress": (text, redacted_text),
            "legalEmail": (SOPHIE, None),
            "supportEmail": ("help@example.org", "help@example.org"),
        }
        api.patch(organization.path, caller=ada, json={name: before for name, (before, _) in texts.items()})
        key = create_api_key(api, organization, name=f"Key of {SOPHIE}")
        invitation = create_invitation(api, organization, stranger, message=text)
        assert erase(email=SOPHIE) == (3, 3)
        record = api.get(organization.path, caller=ada).json
        assert {name: record[name] for name in texts} == {name: after for name, (_, after) in texts.items()}
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json["name"] == "Key of …"
        invitation_record = api.get(invitation.path, caller=ada).json
        assert (invitation_record["message"], invitation_record["status"]) == (redacted_text, "pending")
        assert invitation_record["email"] == stranger.email
        assert accept_invitation(api, invitation, stranger)["membership"]

    def test_a_user_id_is_redacted_in_a_text_too(self, api, organization, ada, mary, erase):
        address = f"https://example.org/people/{mary.id.upper()}/"
        api.patch(organization.path, caller=ada, json={"companyAddress": address})
        erase(email=mary.email)
        assert api.get(organization.path, caller=ada).json["companyAddress"] == "https://example.org/people/…/"


class TestSites:
    @pytest.fixture
    def site(self, api, organization):
        robots = {"disallow": [f"/{SOPHIE}"], "extra": f"# {TEXT}"}
        return create_site(api, organization, slug="engines", name=TEXT, description=TEXT, robots=robots)

    @pytest.fixture
    def page(self, api, site):
        """A page whose published revision and draft name Sophie."""
        seo = {"title": TEXT, "description": TEXT, "image": f"https://example.org/?by={SOPHIE}"}
        column = [{"id": "c", "type": "custom", "data": {SOPHIE: [TEXT]}}]
        text, columns = {"id": "a", "type": "text", "text": TEXT}, {"id": "b", "type": "columns", "columns": [column]}
        page = create_published_page(api, site, TEXT, slug="looms", blocks=[text, columns], seo=seo)
        update_page(api, page, blocks=[text, columns, {"id": "d", "type": "quote", "text": TEXT, "cite": SOPHIE}])
        return page

    def test_texts_of_sites_pages_and_menus_are_redacted(self, api, site, page, erase):
        owner, redirects_path = site.owner, f"{site.path}/redirects"
        other_url = f"https://example.org/?q={SOPHIE}"
        for from_path, to_path in ((f"/{SOPHIE}", "/"), ("/ask", other_url), ("/old", "/looms")):
            api.post(redirects_path, caller=owner, json={"fromPath": from_path, "toPath": to_path}).expect(201)
        put_menu(api, site, page_item(page, TEXT, url_item(f"mailto:{SOPHIE}", "Mail")), name=TEXT)
        erase(email=SOPHIE)
        assert keys_of_items_containing(SOPHIE) == []
        record = api.get(site.path, caller=owner).json
        assert (record["name"], record["description"]) == (REDACTED, REDACTED)
        assert record["robots"] == {"disallow": ["/…"], "extra": f"# {REDACTED}"}
        draft = api.get(page.path, caller=owner).json
        assert (draft["title"], draft["seo"]["description"], draft["blocks"][2]["cite"]) == (REDACTED, REDACTED, "…")
        public = get_page_by_path(api, site, "/").json
        assert (public["title"], public["blocks"][0]["text"]) == (REDACTED, REDACTED)
        assert public["blocks"][1]["columns"][0][0]["data"] == {"…": [REDACTED]}
        found_pages = api.get_items(f"{site.path}/pages", caller=owner, query={"q": "Ask …"})
        assert [each["id"] for each in found_pages] == [page.id]
        assert [each["fromPath"] for each in api.get_items(redirects_path, caller=owner)] == ["/old"]
        menu = api.get(f"{site.path}/navigation/main").json
        item = menu["items"][0]
        assert (menu["name"], item["label"], item["path"]) == (REDACTED, REDACTED, "/")
        assert item["children"][0]["url"] == "mailto:…"

    def test_pages_of_an_erased_author_stay_without_their_author(self, api, site, edith, erase):
        created = api.post(f"{site.path}/pages", caller=edith, json={"title": "Hers"}).expect(201)
        path = f"{site.path}/pages/{created.json['id']}"
        assert api.patch(path, caller=edith, json={"title": "Still hers"}).status == 200
        token = api.get(f"{path}/preview", caller=edith).json["token"]
        assert keys_of_items_containing(edith.id)
        erase(userId=edith.id)
        assert keys_of_items_containing(edith.id, edith.email) == []
        revisions = api.get_items(f"{path}/revisions", caller=site.owner)
        assert [(each["title"], each["createdBy"]) for each in revisions] == [("Still hers", None), ("Hers", None)]
        assert api.get(f"{path}/preview-public", query={"token": token}).status_and_code == "404 not_found"


PERSONAL_SETTINGS: Final = {"contact": [TEXT, {SOPHIE: True}], "most": 3}
REDACTED_SETTINGS: Final = {"contact": [REDACTED, {"…": True}], "most": 3}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (PlatformModule, {"module_id": "m"}),
        (ModuleOverride, {"module_id": "m", "space_id": "s"}),
        (Capability, {"capability_key": "c", "space_id": "s"}),
        (ProjectBlock, {"project_block_id": "b", "position": 0, "title": "Hers"}),
    ],
)
def test_settings_and_titles_are_redacted(kind, fields):
    def redaction_changes(**others: object) -> object:
        record = kind(**new_id_and_time_fields(now()), organization_id="o", platform_id="p", **(fields | others))
        return record.redaction_changes_or_none_to_delete(PersonIdentifiers(frozenset(), frozenset({SOPHIE})))

    assert redaction_changes(settings=PERSONAL_SETTINGS) == {"settings": REDACTED_SETTINGS}
    assert redaction_changes(settings={"most": 3}) == {}
    if kind is ProjectBlock:
        assert redaction_changes(title=f"By {SOPHIE}") == {"title": "By …"}


UPDATED = "organization.updated"
CHILD_PREFIXES = ("V#", "N#", "F#")
"""The prefixes of the partitions with child items of webhooks and channels."""


def list_response_bodies(api, webhook):
    deliveries = list_deliveries(api, webhook)
    return [attempt["responseBody"] for delivery in deliveries for attempt in delivery["attempts"]]


def items_with_prefixes(prefixes):
    return [item for item in memory_aws.all_items() if item["pk"][:2] in prefixes]


def interrupt(workers, call_number):
    """Let all transactions from the given one on fail."""
    call_name = "dynamodb:TransactWriteItems"
    with inject_fault(Fault.TIMED_OUT, call_name=call_name, first_call=call_number, times=None) as injected_fault:
        workers.try_deliver()
    assert injected_fault.failed_call


@pytest.mark.usefixtures("private_targets_allowed")
class TestNotifications:
    def test_removes_a_person_from_stored_responses(self, api, organization, workers, receiver, erase):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        for body in (f"Who is {SOPHIE.upper()}?", "Fine."):
            receiver.default_reply = Reply(status=200, body=body.encode())
            rename_organization(api, organization, "After")
            rename_organization(api, organization, "Before")
            workers.deliver()
        deliveries_before = list_deliveries(api, webhook)
        record_count, _ = erase(email=SOPHIE)
        assert list_response_bodies(api, webhook) == ["Who is …?"] * 2 + ["Fine."] * 2
        assert keys_of_items_containing(SOPHIE) == []
        assert record_count == 2
        deliveries_after = list_deliveries(api, webhook)
        assert deliveries_after[2:] == deliveries_before[2:]
        assert [delivery["status"] for delivery in deliveries_after] == ["succeeded"] * 4

    def test_removes_a_person_from_the_webhook_itself(self, api, organization, workers, receiver, erase):
        personal_url, redacted_url, other_url = (
            receiver.url_at("127.0.0.1", path) for path in (f"/?for={SOPHIE}", "/?for=…", "/other")
        )
        described = create_webhook(api, organization, receiver, events=[UPDATED], description=f"Ask {SOPHIE}.")
        with_person_in_url = create_webhook(api, organization, personal_url, events=[UPDATED])
        workers.deliver()
        erase(email=SOPHIE)
        assert keys_of_items_containing(SOPHIE) == []
        record = get_webhook(api, described)
        assert (record["description"], record["status"]) == ("Ask ….", "active")
        record = get_webhook(api, with_person_in_url)
        assert (record["url"], record["status"]) == (redacted_url, "disabled")
        assert "erased" in record["disabledReason"]
        rename_organization(api, organization, "After")
        workers.deliver()
        assert [request.path for request in receiver.requests] == ["/"]
        reenabled = update_webhook(api, with_person_in_url, url=other_url, enabled=True).json
        assert (reenabled["status"], reenabled["disabledReason"]) == ("active", None)

    def test_continues_after_interruptions(self, api, organization, workers, receiver, clock, monkeypatch, erase):
        receiver.default_reply = Reply(status=200, body=f"Hello, {SOPHIE}!".encode())
        webhooks = [create_webhook(api, organization, receiver, events=[UPDATED]) for _ in range(3)]
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        path = erase.begin(email=SOPHIE)
        for call_number in (12, 18, 24):
            interrupt(workers, call_number)
            clock.shift(minutes=4)
            workers.run_sweep()
        erase.finish()
        record = erase.get(path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 15)
        for webhook in webhooks:
            assert list_response_bodies(api, webhook) == ["Hello, …!"] * 5
        assert keys_of_items_containing(SOPHIE) == []

    def test_leaves_later_responses(self, api, organization, workers, receiver, clock, erase):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        erase.begin(email=SOPHIE)
        workers.deliver()
        receiver.default_reply = Reply(status=200, body=SOPHIE.encode())
        clock.shift(seconds=1)
        rename_organization(api, organization, "After")
        erase.finish()
        assert list_response_bodies(api, webhook) == [SOPHIE]


@pytest.mark.usefixtures("private_targets_allowed")
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_purge_removes_pending_notifications_too_and_continues_after_an_interruption(
    api, organization, workers, receiver, clock, monkeypatch, *, is_interrupted
):
    create_webhook(api, organization, receiver)
    create_webhook(api, organization, receiver, enabled=False)
    create_channel(api, organization, receiver)
    for n in range(5):
        rename_organization(api, organization, f"Name {n}")
    workers.deliver()
    assert len({item["pk"] for item in items_with_prefixes(CHILD_PREFIXES)}) == 4
    assert api.delete(organization.path, caller=organization.owner).status == 204
    workers.deliver()
    clock.shift(days=30, minutes=3)
    if is_interrupted:
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 3)
        workers.run_sweep()
        interrupt(workers, 2)
        assert items_with_prefixes(["V#"])
    monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 50)
    for _ in range(3):
        workers.run_until_idle()
        clock.shift(minutes=10)
    assert items_with_prefixes((*CHILD_PREFIXES, "O#")) == []

"""Erasures in texts that name the person: of the organization, its sites, and settings, which can contain anything."""

import json
from typing import Any, Final

import pytest

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.pii import PersonIdentifiers
from tests.harness.erasures import keys_of_items_containing
from tests.harness.invitations import SOPHIE_EMAIL as SOPHIE
from tests.harness.invitations import accept_invitation, create_invitation
from tests.harness.menus import page_item, put_menu, url_item
from tests.harness.organizations import create_api_key
from tests.harness.sites import create_published_page, create_site, get_page_by_path, update_page
from tests.harness.stored_records import new_id_and_time_fields

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
        """A site whose texts all name Sophie."""
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
            created = api.post(redirects_path, caller=owner, json={"fromPath": from_path, "toPath": to_path})
            assert created.status == 201, created.text
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
        created = api.post(f"{site.path}/pages", caller=edith, json={"title": "Hers"})
        assert created.status == 201
        path = f"{site.path}/pages/{created.json['id']}"
        assert api.patch(path, caller=edith, json={"title": "Still hers"}).status == 200
        token = api.get(f"{path}/preview", caller=edith).json["token"]
        assert keys_of_items_containing(edith.id)
        erase(userId=edith.id)
        assert keys_of_items_containing(edith.id, edith.email) == []
        revisions = api.get_items(f"{path}/revisions", caller=site.owner)
        assert [(each["title"], each["createdBy"]) for each in revisions] == [("Still hers", None), ("Hers", None)]
        assert api.get(f"{path}/preview-public", query={"token": token}).status_and_code == "404 not_found"


class TestSettings:
    PERSON = PersonIdentifiers(frozenset(), frozenset({SOPHIE}))
    IN_PLATFORM: Final[dict[str, Any]] = {"organization_id": "o", "platform_id": "p"}

    def redaction_changes(self, kind, fields):
        new_fields = {**new_id_and_time_fields(now()), **self.IN_PLATFORM}
        return kind(**new_fields, **fields).redaction_changes_or_none_to_delete(self.PERSON)

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (PlatformModule, {"module_id": "m"}),
            (ModuleOverride, {"module_id": "m", "space_id": "s"}),
            (Capability, {"capability_key": "c", "space_id": "s"}),
            (ProjectBlock, {"project_block_id": "b", "position": 0, "title": "Hers"}),
        ],
    )
    def test_personal_data_is_redacted(self, kind, fields):
        personal_settings = {"contact": [TEXT, {SOPHIE: True}], "most": 3}
        redacted_settings = {"contact": [REDACTED, {"…": True}], "most": 3}
        assert self.redaction_changes(kind, {**fields, "settings": personal_settings}) == {
            "settings": redacted_settings
        }
        assert self.redaction_changes(kind, {**fields, "settings": {"most": 3}}) == {}

    def test_personal_data_in_a_title_is_redacted(self):
        fields = {"project_block_id": "b", "position": 0, "title": f"By {SOPHIE}"}
        assert self.redaction_changes(ProjectBlock, fields) == {"title": "By …"}

import json
from typing import Final

import pytest

from tests.harness.api import ApiClient
from tests.harness.clock import Clock
from tests.harness.erasures import (
    PersonEraser,
    keys_of_items_containing,
)
from tests.harness.invitations import (
    accept_invitation,
    create_invitation,
)
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.workers import Workers

SOPHIE: Final = "sophie@example.org"


@pytest.fixture
def erase(api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> PersonEraser:
    """A function that completes the erasure of a person in the organization."""
    return PersonEraser(api, organization, workers, clock)


class TestTexts:
    @pytest.mark.parametrize("address", ["josé@example.org", "зоя@example.org", 'a"b\\c@example.org'])
    def test_an_address_is_removed_in_any_encoding_and_case(self, api, organization, ada, erase, address):
        upper_case_address = "".join(letter.upper() if letter.isascii() else letter for letter in address)
        create_invitation(api, organization, upper_case_address, message=f"For you ({upper_case_address})!")
        api.patch(organization.path, caller=ada, json={"companyAddress": f"c/o {address}"})
        erase(email=address)
        assert (
            keys_of_items_containing(address, json.dumps(address)[1:-1], json.dumps(address, ensure_ascii=False)[1:-1])
            == []
        )

    def test_only_the_address_is_redacted_in_a_text(self, api, organization, ada, stranger, erase):
        text = "Ask SOPHIE@Example.org, or sophie@example.org.\nNot anna-sophie@example.org."
        api.patch(
            organization.path,
            caller=ada,
            json={
                "name": SOPHIE,
                "companyName": f"<{SOPHIE}>",
                "companyLegalName": "Engines",
                "companyId": f"'{SOPHIE}'",
                "companyAddress": text,
                "legalEmail": SOPHIE,
                "supportEmail": "help@example.org",
            },
        )
        key, invitation = (
            create_api_key(api, organization, name=f"Key of {SOPHIE}"),
            create_invitation(api, organization, stranger, message=text),
        )
        assert erase(email=SOPHIE) == (3, 3)
        record = api.get(organization.path, caller=ada).json
        redacted_text = "Ask …, or ….\nNot anna-sophie@example.org."
        changed = {name: record[name] for name in record if name.startswith(("name", "company", "legal", "support"))}
        assert changed == {
            "name": "…",
            "companyName": "<…>",
            "companyLegalName": "Engines",
            "companyId": "'…'",
            "companyCountry": None,
            "companyAddress": redacted_text,
            "legalEmail": None,
            "supportEmail": "help@example.org",
        }
        assert api.get(f"{organization.api_keys_path}/{key.id}", caller=ada).json["name"] == "Key of …"
        invitation_record = api.get(invitation.path, caller=ada).json
        assert (invitation_record["message"], invitation_record["status"]) == (redacted_text, "pending")
        assert invitation_record["email"] == stranger.email
        assert accept_invitation(api, invitation, stranger)["membership"]

    def test_a_user_id_is_redacted_in_a_text_too(self, api, organization, ada, mary, erase):
        api.patch(
            organization.path, caller=ada, json={"companyAddress": f"https://example.org/people/{mary.id.upper()}/"}
        )
        erase(email=mary.email)
        assert api.get(organization.path, caller=ada).json["companyAddress"] == "https://example.org/people/…/"

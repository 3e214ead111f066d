import pytest

from tests.harness.invitations import (
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decline_invitation,
    resend_invitation,
)
from tests.harness.organizations import create_api_key, create_organization

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


class TestListInvitations:
    def test_all_are_listed_in_order_of_creation_whatever_their_status(
        self, api, organization, ada, stranger, operator, clock
    ):
        create_invitation(api, organization, "late@example.org", expiresInDays=1)
        clock.shift(days=2)
        accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        decline_invitation(api, create_invitation(api, organization, operator), operator)
        api.delete(create_invitation(api, organization, "gone@example.org").path, caller=ada)
        create_invitation(api, organization, SOPHIE_EMAIL)
        listed = api.get_items(f"{organization.path}/invitations", caller=ada)
        assert [i["status"] for i in listed] == ["expired", "accepted", "declined", "revoked", "pending"]

    def test_listed_invitations_have_no_link(self, api, organization, ada):
        invitations = [create_invitation(api, organization, f"{name}@example.org").record for name in "cab"]
        listed = api.get_items(f"{organization.path}/invitations", caller=ada)
        assert listed == [{**record, "acceptUrl": None} for record in invitations]

    def test_invitations_are_listed_page_by_page(self, api, organization, ada):
        ids = [create_invitation(api, organization, f"{n}@example.org").id for n in range(5)]
        pages = api.get_pages(f"{organization.path}/invitations", caller=ada, query={"limit": 2})
        assert [[i["id"] for i in page["items"]] for page in pages if page["items"]] == [ids[:2], ids[2:4], ids[4:]]

    def test_only_admins_and_keys_that_read_members_list_invitations(
        self, api, organization, grace, edith, mary, stranger
    ):
        path = f"{organization.path}/invitations"
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        for caller in (
            grace,
            create_api_key(api, organization, "members:read"),
            create_api_key(api, organization, "admin"),
        ):
            assert [i["id"] for i in api.get_items(path, caller=caller)] == [invitation.id]
        for person in (edith, mary):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"
        assert (
            api.get(path, caller=create_api_key(api, organization, "read")).status_and_code == "403 insufficient_scope"
        )
        assert api.get(path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(path).status_and_code == "401 unauthenticated"


class TestGetInvitation:
    def test_an_invitation_is_read_without_its_link_and_with_an_etag(self, api, organization, grace, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        answer = api.get(invitation.path, caller=grace)
        assert answer.json == {**invitation.record, "acceptUrl": None}
        conditions = {"If-None-Match": answer.etag}
        assert api.get(invitation.path, caller=grace, headers=conditions).status == 304
        clock.shift(minutes=2)
        resend_invitation(api, organization, invitation)
        assert api.get(invitation.path, caller=grace, headers=conditions).status == 200

    def test_the_etag_changes_at_expiry(self, api, organization, ada, clock):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        conditions = {"If-None-Match": api.get(invitation.path, caller=ada).etag}
        clock.shift(days=8)
        answer = api.get(invitation.path, caller=ada, headers=conditions)
        assert (answer.status, answer.json["status"]) == (200, "expired")

    @pytest.mark.parametrize("invitation", [UNKNOWN_ID, "x", "%20", "acceptance"])
    def test_an_unknown_invitation_is_not_found(self, api, organization, ada, invitation):
        assert api.get(f"{organization.path}/invitations/{invitation}", caller=ada).status_and_code == "404 not_found"

    def test_an_invitation_of_another_organization_is_not_found(self, api, organization, ada):
        foreign_invitation = create_invitation(api, create_organization(api, ada), SOPHIE_EMAIL)
        path = f"{organization.path}/invitations/{foreign_invitation.id}"
        assert api.get(path, caller=ada).status_and_code == "404 not_found"
        assert api.delete(path, caller=ada).status_and_code == "404 not_found"
        assert api.post(f"{path}/resend", caller=ada).status_and_code == "404 not_found"
        assert api.get(foreign_invitation.path, caller=ada).json["status"] == "pending"

    def test_only_admins_and_keys_that_read_members_read_an_invitation(self, api, organization, edith, mary, stranger):
        invitation = create_invitation(api, organization, stranger)
        assert api.get(invitation.path, caller=create_api_key(api, organization, "members:read")).status == 200
        for person in (edith, mary):
            assert api.get(invitation.path, caller=person).status_and_code == "403 insufficient_role"
        assert api.get(invitation.path, caller=stranger).status_and_code == "404 not_found", (
            "an invitation gives no access"
        )

    def test_an_invitation_cannot_be_changed(self, api, organization, ada):
        invitation = create_invitation(api, organization, SOPHIE_EMAIL)
        for method in ("PATCH", "PUT"):
            answer = api.request(method, invitation.path, caller=ada, json={"role": "admin"})
            assert answer.status_and_code == "405 method_not_allowed"

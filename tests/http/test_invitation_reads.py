import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import SOPHIE, accepts, declines, invite, resend
from tests.harness.organizations import Founded, found, make_key

UNKNOWN_ID = "01939d3c-0000-4000-8000-00000000000a"


class TestListInvitations:
    def test_all_are_listed_in_order_of_creation_whatever_their_status(
        self, api: Api, organization: Founded, ada: Person, stranger: Person, operator: Person, clock: Clock
    ) -> None:
        invite(api, organization, "late@example.org", expiresInDays=1)
        clock.shift(days=2)
        accepts(api, invite(api, organization, stranger), stranger)
        declines(api, invite(api, organization, operator), operator)
        api.delete(invite(api, organization, "gone@example.org").path, as_=ada)
        invite(api, organization, SOPHIE)
        listed = api.items(f"{organization.path}/invitations", as_=ada)
        assert [i["status"] for i in listed] == ["expired", "accepted", "declined", "revoked", "pending"]

    def test_listed_invitations_have_no_link(self, api: Api, organization: Founded, ada: Person) -> None:
        invitations = [invite(api, organization, f"{name}@example.org").record for name in "cab"]
        listed = api.items(f"{organization.path}/invitations", as_=ada)
        assert listed == [{**record, "acceptUrl": None} for record in invitations]

    def test_invitations_are_listed_page_by_page(self, api: Api, organization: Founded, ada: Person) -> None:
        ids = [invite(api, organization, f"{n}@example.org").id for n in range(5)]
        pages = api.pages(f"{organization.path}/invitations", as_=ada, query={"limit": 2})
        assert [[i["id"] for i in page["items"]] for page in pages if page["items"]] == [ids[:2], ids[2:4], ids[4:]]

    def test_only_admins_and_keys_that_read_members_list_invitations(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        path = f"{organization.path}/invitations"
        invitation = invite(api, organization, SOPHIE)
        for caller in (grace, make_key(api, organization, "members:read"), make_key(api, organization, "admin")):
            assert [i["id"] for i in api.items(path, as_=caller)] == [invitation.id]
        for person in (edith, mary):
            assert api.get(path, as_=person).code == "403 insufficient_role"
        assert api.get(path, as_=make_key(api, organization, "read")).code == "403 insufficient_scope"
        assert api.get(path, as_=stranger).code == "404 not_found"
        assert api.get(path).code == "401 unauthenticated"


class TestGetInvitation:
    def test_an_invitation_is_read_without_its_link_and_with_an_etag(
        self, api: Api, organization: Founded, grace: Person, clock: Clock
    ) -> None:
        invitation = invite(api, organization, SOPHIE)
        answer = api.get(invitation.path, as_=grace)
        assert answer.json == {**invitation.record, "acceptUrl": None}
        conditions = {"If-None-Match": answer.etag}
        assert api.get(invitation.path, as_=grace, headers=conditions).status == 304
        clock.shift(minutes=2)
        resend(api, organization, invitation)
        assert api.get(invitation.path, as_=grace, headers=conditions).status == 200

    def test_the_etag_changes_at_expiry(self, api: Api, organization: Founded, ada: Person, clock: Clock) -> None:
        invitation = invite(api, organization, SOPHIE)
        conditions = {"If-None-Match": api.get(invitation.path, as_=ada).etag}
        clock.shift(days=8)
        answer = api.get(invitation.path, as_=ada, headers=conditions)
        assert (answer.status, answer.json["status"]) == (200, "expired")

    @pytest.mark.parametrize("invitation", [UNKNOWN_ID, "x", "%20", "acceptance"])
    def test_an_unknown_invitation_is_not_found(
        self, api: Api, organization: Founded, ada: Person, invitation: str
    ) -> None:
        assert api.get(f"{organization.path}/invitations/{invitation}", as_=ada).code == "404 not_found"

    def test_an_invitation_of_another_organization_is_not_found(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        foreign_invitation = invite(api, found(api, ada), SOPHIE)
        path = f"{organization.path}/invitations/{foreign_invitation.id}"
        assert api.get(path, as_=ada).code == "404 not_found"
        assert api.delete(path, as_=ada).code == "404 not_found"
        assert api.post(f"{path}/resend", as_=ada).code == "404 not_found"
        assert api.get(foreign_invitation.path, as_=ada).json["status"] == "pending"

    def test_only_admins_and_keys_that_read_members_read_an_invitation(
        self, api: Api, organization: Founded, edith: Person, mary: Person, stranger: Person
    ) -> None:
        invitation = invite(api, organization, stranger)
        assert api.get(invitation.path, as_=make_key(api, organization, "members:read")).status == 200
        for person in (edith, mary):
            assert api.get(invitation.path, as_=person).code == "403 insufficient_role"
        assert api.get(invitation.path, as_=stranger).code == "404 not_found", "an invitation gives no access"

    def test_an_invitation_cannot_be_changed(self, api: Api, organization: Founded, ada: Person) -> None:
        invitation = invite(api, organization, SOPHIE)
        for method in ("PATCH", "PUT"):
            answer = api.request(method, invitation.path, as_=ada, json={"role": "admin"})
            assert answer.code == "405 method_not_allowed"

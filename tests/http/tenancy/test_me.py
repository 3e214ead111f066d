"""What the service tells callers about themselves."""

from uuid import NAMESPACE_URL, uuid5

import pytest

from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.me.logic import caller_description, pending_invitations
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.writes import Write
from tests.harness import memory_aws
from tests.harness.callers import AUDIENCE, ISSUER
from tests.harness.invitations import create_declined, create_invitation, resend_invitation
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    remove_member,
    rotate_api_key,
)
from tests.harness.stored_records import load_item


@pytest.fixture
def get_me(api):
    return lambda caller: api.get("/me", caller=caller).expect(200).json


def invitation_ids(me):
    return [each["id"] for each in me["pendingInvitations"]]


class TestUser:
    def test_a_user_sees_the_claims_of_their_token_and_their_roles(self, api, organization, mary, get_me):
        own = create_organization(api, mary, name="Own")
        answer = api.get("/me", caller=mary)
        me = answer.json
        assert answer.headers["Cache-Control"] == "no-store"
        names = {"id": mary.id, "username": "mary", "name": mary.name, "email": mary.email}
        assert me | names | {"emailVerified": True, "isOperator": False} == me
        assert me["idDerivation"] == {"method": "sub", "issuer": ISSUER, "subject": mary.id}
        credential = {"type": "user", "audiences": [AUDIENCE], "scopes": None, "allowedIps": None, "createdBy": None}
        assert me["credential"] == credential | {"expiresAt": me["credential"]["expiresAt"]}
        assert now() < me["credential"]["expiresAt"] <= after(now(), hours=8)
        roles = [(each["id"], each["name"], each["slug"], each["role"]) for each in me["organizations"]]
        expected = ((organization, "member"), (own, "owner"))
        assert roles == [(each.id, each.record["name"], each.record["slug"], role) for each, role in expected]
        assert (me["hasMoreOrganizations"], me["pendingInvitations"]) == (False, [])
        assert api.delete(own.path, caller=mary).status == 204
        remove_member(api, organization, mary)
        assert get_me(mary)["organizations"] == []

    def test_a_subject_that_is_no_uuid_explains_the_id(self, issuer, get_me):
        token = issuer.issue_token(sub="auth0|42", aud=["x", AUDIENCE], exp=10**15)
        me = get_me(token)
        assert me["id"] == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), "auth0|42"))
        assert me["idDerivation"] == {"method": "uuid5", "issuer": ISSUER, "subject": "auth0|42"}
        assert (me["email"], me["emailVerified"], me["credential"]["expiresAt"]) == (None, False, None)
        assert me["credential"]["audiences"] == ["x", AUDIENCE]

    def test_an_operator_sees_that_they_are_one(self, operator, get_me):
        assert get_me(operator)["isOperator"]

    def test_a_person_in_many_organizations_sees_the_first_ones_with_the_same_reads(
        self, api, ada, organization, stranger, get_me, monkeypatch
    ):
        monkeypatch.setattr(caller_description, "MAX_ORGANIZATIONS", 2)
        monkeypatch.setattr(pending_invitations, "MAX_INVITATIONS", 1)
        others = [create_organization(api, ada) for _ in range(3)]
        for each in others:
            add_organization_member(each, stranger, "editor")
        for each in (organization, create_organization(api, ada)):
            latest = create_invitation(api, each, stranger)
        answer = api.get("/me", caller=stranger)
        assert len(answer.calls.call_names) == 4
        me = answer.json
        assert [each["id"] for each in me["organizations"]] == [each.id for each in others[:2]]
        assert invitation_ids(me) == [latest.id]
        assert (me["hasMoreOrganizations"], me["hasMorePendingInvitations"]) == (True, True)


class TestPendingInvitations:
    def test_invitations_of_any_organization_and_platform_are_listed_without_tokens(
        self, api, organization, platform, ada, stranger, get_me
    ):
        invitations = [create_invitation(api, place, stranger, role="editor") for place in (organization, platform)]
        places = [{name: each.record[name] for name in ("id", "name", "slug")} for each in (organization, platform)]
        me = get_me(stranger)
        assert me["pendingInvitations"] == [
            {
                "id": invitation.id,
                "organization": places[0],
                "platform": place,
                "role": "editor",
                "invitedBy": ada.id,
                "inviterName": ada.name,
                "expiresAt": invitation.record["expiresAt"],
            }
            for invitation, place in zip(reversed(invitations), [places[1], None], strict=True)
        ]

    def test_invitations_that_cannot_be_accepted_are_not_listed(
        self, api, organization, ada, grace, issuer, stranger, clock, get_me
    ):
        revoked = create_invitation(api, organization, stranger)
        assert api.delete(revoked.path, caller=ada).status == 204
        create_declined(api, organization, stranger)
        deleted = create_organization(api, ada)
        create_invitation(api, deleted, stranger)
        assert api.delete(deleted.path, caller=ada).status == 204
        assert get_me(stranger)["pendingInvitations"] == []
        by_grace = create_invitation(api, organization, stranger, caller=grace)
        unverified = issuer.create_person("stranger", "Sophie", email_verified=False)
        assert (invitation_ids(get_me(stranger)), get_me(unverified)["pendingInvitations"]) == ([by_grace.id], [])
        remove_member(api, organization, grace)
        assert get_me(stranger)["pendingInvitations"] == []
        last = create_invitation(api, create_organization(api, ada), stranger, expiresInDays=1)
        clock.shift(hours=23)
        assert invitation_ids(get_me(stranger)) == [last.id]
        clock.shift(hours=2)
        stranger_again = issuer.create_person("stranger", "Sophie")
        assert get_me(stranger_again)["pendingInvitations"] == []

    @pytest.mark.parametrize("invitations_per_read", [1, 2, 20])
    def test_invitations_that_cannot_be_accepted_do_not_hide_older_ones(
        self, api, organization, ada, stranger, get_me, monkeypatch, invitations_per_read
    ):
        monkeypatch.setattr(pending_invitations, "MAX_INVITATIONS", 2)
        monkeypatch.setattr(caller_description, "MAX_CHECKED_INVITATIONS", 6)
        for module in (caller_description, pending_invitations):
            monkeypatch.setattr(module, "INVITATIONS_PER_READ", invitations_per_read)
        oldest, *older = [create_invitation(api, create_organization(api, ada), stranger) for _ in range(3)]
        deleted = [create_organization(api, ada) for _ in range(3)]
        for each in deleted:
            create_invitation(api, each, stranger)
            api.delete(each.path, caller=ada).expect(204)
        me = get_me(stranger)
        assert invitation_ids(me) == [each.id for each in reversed(older)]
        assert me["hasMorePendingInvitations"]
        api.delete(older[0].path, caller=ada).expect(204)
        me = get_me(stranger)
        assert invitation_ids(me) == [older[1].id, oldest.id]
        assert not me["hasMorePendingInvitations"]

    def test_two_hundred_invitations_are_checked_with_a_bounded_number_of_reads(
        self, api, organization, ada, stranger, get_me
    ):
        oldest = create_invitation(api, organization, stranger)
        pointer = load_item((address_partition(stranger.email), oldest.id))
        for number in range(caller_description.MAX_CHECKED_INVITATIONS - 1):
            key = (address_partition(stranger.email), f"{oldest.id}-{number}")
            table.write_transaction([Write("Put", key, item={**pointer, "sk": key[1]})])
        answer = api.get("/me", caller=stranger)
        assert (invitation_ids(answer.json), answer.json["hasMorePendingInvitations"]) == ([oldest.id], False)
        assert len(answer.calls.call_list) <= 15
        newest = create_invitation(api, create_organization(api, ada), stranger)
        assert (invitation_ids(get_me(stranger)), get_me(stranger)["hasMorePendingInvitations"]) == ([newest.id], True)

    def test_invitations_of_earlier_releases_are_listed_by_a_migration(
        self, api, organization, ada, stranger, workers, get_me, monkeypatch
    ):
        step = "chalicelib.features.admin.migrations.logic.steps.list_invitations_by_address._MAX_INVITATIONS"
        monkeypatch.setattr(step, 2)
        places = [organization, *(create_organization(api, ada) for _ in range(4))]
        invitations = [create_invitation(api, each, stranger) for each in places]
        create_declined(api, create_organization(api, ada), stranger)
        for invitation in invitations:
            memory_aws.delete_item({"pk": address_partition(stranger.email), "sk": invitation.id})
        assert get_me(stranger)["pendingInvitations"] == []
        assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
        assert invitation_ids(get_me(stranger)) == [each.id for each in reversed(invitations)]


class TestApiKey:
    def test_a_key_without_any_area_sees_its_organization_scopes_and_expiry(self, api, organization, ada, get_me):
        expires_at = after(now(), days=30)
        options = {"expiresAt": expires_at, "allowedIps": ["192.0.2.0/24"]}
        key = create_api_key(api, organization, "webhooks:read", **options)
        me = get_me(key)
        assert (me["id"], me["name"], me["idDerivation"], me["email"]) == (key.id, "Nightly export", None, None)
        credential = {"type": "api_key", "scopes": ["webhooks:read"], "createdBy": ada.id, "audiences": None}
        assert me["credential"] == {**credential, **options}
        (own,) = me["organizations"]
        assert (own["id"], own["role"]) == (organization.id, "member")

    def test_a_former_secret_ends_before_its_key(self, api, organization, get_me):
        key = create_api_key(api, organization, "admin")
        assert get_me(key)["credential"]["expiresAt"] is None
        assert rotate_api_key(api, organization, key, graceHours=5).status == 200
        me = get_me(key)
        assert after(now(), hours=4) < me["credential"]["expiresAt"] <= after(now(), hours=5)
        assert me["organizations"][0]["role"] == "admin"


def test_a_resent_invitation_stays_listed(api, organization, stranger, clock, get_me):
    invitation = create_invitation(api, organization, stranger)
    clock.shift(minutes=2)
    resent = resend_invitation(api, organization, invitation)
    (listed,) = get_me(stranger)["pendingInvitations"]
    assert (listed["id"], listed["expiresAt"]) == (invitation.id, resent.record["expiresAt"])

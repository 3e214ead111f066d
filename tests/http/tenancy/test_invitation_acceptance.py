import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import memory_aws
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
)
from tests.harness.organizations import (
    add_organization_member,
    roles_by_username,
)

USED = "410 invitation_used"


class TestDescribeInvitation:
    def test_anonymous_callers_see_the_inviter_the_organization_and_the_role(
        self, api, organization, invitation, ada, stranger
    ):
        response = open_invitation(api, invitation)
        assert response.status == 200
        record = organization.record
        assert response.json == {
            "organization": {"id": organization.id, "name": record["name"], "slug": record["slug"]},
            "platform": None,
            "role": "editor",
            "email": stranger.email,
            "status": "pending",
            "expiresAt": invitation.record["expiresAt"],
            "invitedBy": ada.id,
            "inviterName": "Ada Lovelace",
            "canAccept": None,
            "reason": None,
            "membership": None,
        }

    def test_opening_the_link_changes_nothing_for_any_caller(self, api, organization, invitation, ada, stranger):
        before = memory_aws.all_items()
        for caller in (None, ada, stranger, stranger):
            response = open_invitation(api, invitation, caller)
            assert (response.status, response.json["status"], response.json["membership"]) == (200, "pending", None)
            assert set(response.calls.call_names) <= {"dynamodb:GetItem", "dynamodb:BatchGetItem"}
        assert memory_aws.all_items() == before
        assert invitation_events(api, organization, invitation) == ["created"]
        assert api.get(invitation.path, caller=ada).json["version"] == 1

    def test_a_decision_without_a_credential_is_unauthenticated(self, api, invitation, ada):
        for decision in ("accept", "decline"):
            response = decide_on_invitation(api, invitation, None, decision)
            assert response.status_and_code == "401 unauthenticated"
            assert "omit the decision" in response.json["detail"]
        assert api.get(invitation.path, caller=ada).json["version"] == 1

    def test_a_user_sees_whether_they_can_accept_and_their_membership(
        self, api, organization, invitation, ada, stranger, issuer
    ):
        def acceptance_fields(person: Person) -> tuple[object, ...]:
            described = open_invitation(api, invitation, person).json
            return described["canAccept"], described["reason"], described["membership"]

        unverified = issuer.create_person("stranger", "Sophie", email_verified=False)
        assert [acceptance_fields(person) for person in (ada, unverified)] == [(False, "email_mismatch", None)] * 2
        assert acceptance_fields(stranger) == (True, None, None)
        membership = accept_invitation(api, invitation, stranger)["membership"]
        assert acceptance_fields(stranger) == (True, None, membership)
        assert acceptance_fields(ada) == (False, "email_mismatch", None)
        assert api.post(f"{organization.path}/leave", caller=stranger).status == 204
        assert acceptance_fields(stranger) == (False, "invitation_used", None)

    def test_a_member_with_a_lower_role_cannot_accept(self, api, organization, invitation, stranger):
        add_organization_member(organization, stranger, "member")
        described = open_invitation(api, invitation, stranger).json
        assert (described["canAccept"], described["reason"]) == (False, "already_member")

    def test_anonymous_callers_see_the_status_but_not_who_answered(self, api, organization, stranger, operator):
        accepted_invitation, declined_invitation = (
            create_invitation(api, organization, stranger),
            create_invitation(api, organization, operator),
        )
        accept_invitation(api, accepted_invitation, stranger)
        decline_invitation(api, declined_invitation, operator)
        for invitation, status in ((accepted_invitation, "accepted"), (declined_invitation, "declined")):
            described = open_invitation(api, invitation).json
            assert (described["status"], described["membership"]) == (status, None)

    def test_describing_an_invitation_takes_two_reads(self, api, invitation):
        assert len(open_invitation(api, invitation).calls.call_names) == 2

    def test_responses_are_not_stored_by_caches(self, api, invitation, ada):
        assert open_invitation(api, invitation).headers["Cache-Control"] == "no-store"
        assert open_invitation(api, invitation, ada).headers["Cache-Control"] == "no-store"
        assert open_invitation(api, "x").headers["Cache-Control"] == "no-store"
        assert api.get(ACCEPTANCE_PATH).headers["Cache-Control"] == "no-store"

    def test_browsers_of_any_origin_may_read_the_description(self, api, invitation):
        assert open_invitation(api, invitation).headers["Access-Control-Allow-Origin"] == "*"


class TestTokens:
    @pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 70, "A" * 71, "-_" * 35, "=" * 8, "null"])
    def test_a_malformed_token_is_not_found(self, api, ada, token):
        for caller in (None, ada):
            assert open_invitation(api, token, caller).status_and_code == "404 not_found"
        assert api.post(ACCEPTANCE_PATH, caller=ada, json={"token": token}).status_and_code == "404 not_found"

    def test_a_token_altered_at_any_character_is_not_found(self, api, organization, invitation, stranger):
        token = invitation.token
        for index in range(len(token)):
            letter = "A" if token[index] != "A" else "B"
            assert (
                open_invitation(api, token[:index] + letter + token[index + 1 :], stranger).status_and_code
                == "404 not_found"
            )
        for altered in (token[:-1], token + "A", token + "=", token.swapcase(), token * 2):
            assert open_invitation(api, altered, stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_token_cannot_be_built_from_public_ids(self, api, organization, invitation):
        public_ids = bytes.fromhex((organization.id + invitation.id).replace("-", ""))
        key_id = base64.urlsafe_b64decode(f"{invitation.token}==")[36:40]
        for tag in (bytes(20), key_id + bytes(16), key_id + bytes(range(16))):
            forged_token = base64.urlsafe_b64encode(public_ids + (1).to_bytes(4) + tag).rstrip(b"=").decode()
            assert len(forged_token) == len(invitation.token)
            assert open_invitation(api, forged_token).status_and_code == "404 not_found"

    def test_the_token_is_required(self, api, ada):
        assert api.get(ACCEPTANCE_PATH).errors == {"query/token": "required"}
        assert api.post(ACCEPTANCE_PATH, caller=ada, json={}).errors == {"/token": "required"}

    @pytest.mark.parametrize("decision", ["", "Accept", "maybe", "revoke"])
    def test_a_decision_is_accept_or_decline(self, api, organization, invitation, stranger, decision):
        assert set(open_invitation(api, invitation, stranger, decision=decision).errors) == {"query/decision"}
        response = api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token, "decision": decision})
        assert set(response.errors) == {"/decision"}
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_token_of_a_deleted_organization_is_not_found_until_the_restore(
        self, api, organization, invitation, ada, stranger
    ):
        api.delete(organization.path, caller=ada)
        for caller in (None, stranger):
            assert open_invitation(api, invitation, caller).status_and_code == "404 not_found"
        assert (
            api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token}).status_and_code
            == "404 not_found"
        )
        api.patch(organization.path, caller=ada, json={"status": "active"})
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "editor"


class TestAcceptInvitation:
    def test_the_invited_user_becomes_a_member_with_the_role(self, api, organization, invitation, stranger, clock):
        timestamp = clock.freeze()
        response = accept_invitation(api, invitation, stranger)
        assert (response["status"], response["role"], response["email"]) == ("accepted", "editor", stranger.email)
        assert response["membership"] == {
            "id": response["membership"]["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "userId": stranger.id,
            "username": "stranger",
            "name": "Sophie Germain",
            "email": stranger.email,
            "role": "editor",
            "joinedAt": timestamp,
            "revokedKeys": None,
        }
        assert api.get(f"{organization.path}/members/{stranger.id}", caller=stranger).json == response["membership"]
        assert [o["id"] for o in api.get_items("/organizations", caller=stranger)] == [organization.id]
        assert list(roles_by_username(api, organization).items())[-1] == ("stranger", "editor")

    def test_the_invitation_becomes_accepted(self, api, invitation, stranger, ada):
        accept_invitation(api, invitation, stranger)
        record = api.get(invitation.path, caller=ada).json
        assert (record["status"], record["version"], record["acceptUrl"]) == ("accepted", 2, None)

    def test_a_repeated_acceptance_gets_the_same_response_and_changes_nothing(
        self, api, organization, invitation, stranger
    ):
        first = accept_invitation(api, invitation, stranger)
        before = memory_aws.all_items()
        assert [accept_invitation(api, invitation, stranger) for _ in range(2)] == [first, first]
        assert memory_aws.all_items() == before
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    def test_a_repeated_acceptance_shows_the_current_membership(self, api, organization, invitation, ada, stranger):
        accept_invitation(api, invitation, stranger)
        api.patch(f"{organization.path}/members/{stranger.id}", caller=ada, json={"role": "admin"})
        repeated = accept_invitation(api, invitation, stranger)
        assert (repeated["role"], repeated["membership"]["role"]) == ("editor", "admin")

    def test_an_acceptance_can_be_repeated_after_the_expiry(self, api, invitation, stranger, clock):
        first = accept_invitation(api, invitation, stranger)
        clock.shift(days=40)
        assert accept_invitation(api, invitation, stranger) == first

    @pytest.mark.parametrize("end", ["removed", "left"])
    def test_an_invitation_is_used_up_once_the_membership_has_ended(
        self, api, organization, invitation, ada, stranger, end
    ):
        accept_invitation(api, invitation, stranger)
        if end == "removed":
            api.delete(f"{organization.path}/members/{stranger.id}", caller=ada)
        else:
            api.post(f"{organization.path}/leave", caller=stranger)
        assert decide_on_invitation(api, invitation, stranger).status_and_code == USED
        assert "stranger" not in roles_by_username(api, organization)
        assert (
            accept_invitation(api, create_invitation(api, organization, stranger), stranger)["membership"]["role"]
            == "member"
        )

    def test_an_invitation_stays_used_up_after_its_user_joins_by_another(
        self, api, organization, invitation, ada, stranger
    ):
        accept_invitation(api, invitation, stranger)
        api.delete(f"{organization.path}/members/{stranger.id}", caller=ada)
        accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        assert decide_on_invitation(api, invitation, stranger).status_and_code == USED

    def test_a_user_who_joins_as_admin_can_invite_at_once(self, api, organization, stranger, operator):
        accept_invitation(api, create_invitation(api, organization, stranger, role="admin"), stranger)
        second_invitation = create_invitation(api, organization, operator, caller=stranger, role="admin")
        assert accept_invitation(api, second_invitation, operator)["inviterName"] == "Sophie Germain"

    def test_concurrent_acceptances_create_one_member(self, api, organization, invitation, stranger):
        with ThreadPoolExecutor(5) as threads:
            responses = list(threads.map(lambda _: decide_on_invitation(api, invitation, stranger), range(5)))
        assert {response.status for response in responses} == {200}
        assert len({response.text for response in responses}) == 1
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]


class TestDeclineInvitation:
    def test_the_invited_user_declines(self, api, organization, invitation, stranger):
        response = decline_invitation(api, invitation, stranger)
        assert (response["status"], response["membership"]) == ("declined", None)
        assert get_invitation_status(api, organization, invitation) == "declined"
        assert "stranger" not in roles_by_username(api, organization)
        assert invitation_events(api, organization, invitation) == ["created", "declined"]

    def test_a_repeated_decline_gets_the_same_response_and_changes_nothing(
        self, api, organization, invitation, stranger
    ):
        first = decline_invitation(api, invitation, stranger)
        assert decline_invitation(api, invitation, stranger) == first
        assert invitation_events(api, organization, invitation) == ["created", "declined"]

    def test_a_declined_invitation_cannot_be_accepted_nor_an_accepted_one_declined(
        self, api, organization, stranger, operator
    ):
        declined_invitation = create_invitation(api, organization, stranger)
        accepted_invitation = create_invitation(api, organization, operator)
        decline_invitation(api, declined_invitation, stranger)
        accept_invitation(api, accepted_invitation, operator)
        assert decide_on_invitation(api, declined_invitation, stranger).status_and_code == USED
        late = open_invitation(api, accepted_invitation, operator, decision="decline")
        assert late.status_and_code == USED
        assert (
            f"You accepted it and are a member. To leave, send POST {organization.path}/leave." in late.json["detail"]
        )
        statuses = [get_invitation_status(api, organization, i) for i in (declined_invitation, accepted_invitation)]
        assert statuses == ["declined", "accepted"]
        assert set(roles_by_username(api, organization)) == {"ada", "grace", "edith", "mary", "operator"}

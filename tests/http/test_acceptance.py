import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.invitations import ACCEPTANCE, Invited, accepts, decides, declines, history, invite, opens, status_of
from tests.harness.organizations import Founded, found, joins, make_key

OTHER_USER_ID = "01939d3c-0000-4000-8000-00000000000a"
MISMATCH, USED = "403 email_mismatch", "410 invitation_used"


@pytest.fixture
def invitation(api: Api, organization: Founded, stranger: Person) -> Invited:
    """Sophie's invitation to the organization as an editor."""
    return invite(api, organization, stranger, role="editor")


def roles_by_username(api: Api, organization: Founded) -> dict[str, str]:
    return {m["username"]: m["role"] for m in api.items(f"{organization.path}/members", as_=organization.owner)}


class TestDescribeInvitation:
    def test_anonymous_callers_see_the_inviter_the_organization_and_the_role(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        response = opens(api, invitation)
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

    def test_opening_the_link_changes_nothing_for_any_caller(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        before = cloud.stored()
        for caller in (None, ada, stranger, stranger):
            response = opens(api, invitation, caller)
            assert (response.status, response.json["status"], response.json["membership"]) == (200, "pending", None)
            assert set(response.calls.names) <= {"dynamodb:GetItem", "dynamodb:BatchGetItem"}
        assert cloud.stored() == before
        assert history(api, organization, invitation) == ["created"]
        assert api.get(invitation.path, as_=ada).json["version"] == 1

    def test_a_decision_without_a_credential_is_unauthenticated(
        self, api: Api, invitation: Invited, ada: Person
    ) -> None:
        for decision in ("accept", "decline"):
            response = decides(api, invitation, None, decision)
            assert response.code == "401 unauthenticated"
            assert "omit the decision" in response.json["detail"]
        assert api.get(invitation.path, as_=ada).json["version"] == 1

    def test_a_user_sees_whether_they_can_accept_and_their_membership(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person, issuer: Issuer
    ) -> None:
        def acceptance_fields(person: Person) -> tuple[object, ...]:
            described = opens(api, invitation, person).json
            return described["canAccept"], described["reason"], described["membership"]

        unverified = issuer.person("stranger", "Sophie", email_verified=False)
        assert [acceptance_fields(person) for person in (ada, unverified)] == [(False, "email_mismatch", None)] * 2
        assert acceptance_fields(stranger) == (True, None, None)
        membership = accepts(api, invitation, stranger)["membership"]
        assert acceptance_fields(stranger) == (True, None, membership)
        assert acceptance_fields(ada) == (False, "email_mismatch", None)
        assert api.post(f"{organization.path}/leave", as_=stranger).status == 204
        assert acceptance_fields(stranger) == (False, "invitation_used", None)

    def test_a_member_with_a_lower_role_cannot_accept(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        joins(organization, stranger, "member")
        described = opens(api, invitation, stranger).json
        assert (described["canAccept"], described["reason"]) == (False, "already_member")

    def test_anonymous_callers_see_the_status_but_not_who_answered(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        accepted_invitation, declined_invitation = (
            invite(api, organization, stranger),
            invite(api, organization, operator),
        )
        accepts(api, accepted_invitation, stranger)
        declines(api, declined_invitation, operator)
        for invitation, status in ((accepted_invitation, "accepted"), (declined_invitation, "declined")):
            described = opens(api, invitation).json
            assert (described["status"], described["membership"]) == (status, None)

    def test_describing_an_invitation_takes_two_reads(self, api: Api, invitation: Invited) -> None:
        assert len(opens(api, invitation).calls.names) == 2

    def test_responses_are_not_stored_by_caches(self, api: Api, invitation: Invited, ada: Person) -> None:
        assert opens(api, invitation).headers["Cache-Control"] == "no-store"
        assert opens(api, invitation, ada).headers["Cache-Control"] == "no-store"
        assert opens(api, "x").headers["Cache-Control"] == "no-store"
        assert api.get(ACCEPTANCE).headers["Cache-Control"] == "no-store"

    def test_browsers_of_any_origin_may_read_the_description(self, api: Api, invitation: Invited) -> None:
        assert opens(api, invitation).headers["Access-Control-Allow-Origin"] == "*"


class TestTokens:
    @pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 70, "A" * 71, "-_" * 35, "=" * 8, "null"])
    def test_a_malformed_token_is_not_found(self, api: Api, ada: Person, token: str) -> None:
        for caller in (None, ada):
            assert opens(api, token, caller).code == "404 not_found"
        assert api.post(ACCEPTANCE, as_=ada, json={"token": token}).code == "404 not_found"

    def test_a_token_altered_at_any_character_is_not_found(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        token = invitation.token
        for index in range(len(token)):
            letter = "A" if token[index] != "A" else "B"
            assert opens(api, token[:index] + letter + token[index + 1 :], stranger).code == "404 not_found"
        for altered in (token[:-1], token + "A", token + "=", token.swapcase(), token * 2):
            assert opens(api, altered, stranger).code == "404 not_found"
        assert status_of(api, organization, invitation) == "pending"

    def test_a_token_cannot_be_built_from_public_ids(
        self, api: Api, organization: Founded, invitation: Invited
    ) -> None:
        public_ids = bytes.fromhex((organization.id + invitation.id).replace("-", ""))
        key_id = base64.urlsafe_b64decode(f"{invitation.token}==")[36:40]
        for tag in (bytes(20), key_id + bytes(16), key_id + bytes(range(16))):
            forged_token = base64.urlsafe_b64encode(public_ids + (1).to_bytes(4) + tag).rstrip(b"=").decode()
            assert len(forged_token) == len(invitation.token)
            assert opens(api, forged_token).code == "404 not_found"

    def test_the_token_is_required(self, api: Api, ada: Person) -> None:
        assert api.get(ACCEPTANCE).faults == {"query/token": "required"}
        assert api.post(ACCEPTANCE, as_=ada, json={}).faults == {"/token": "required"}

    @pytest.mark.parametrize("decision", ["", "Accept", "maybe", "revoke"])
    def test_a_decision_is_accept_or_decline(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person, decision: str
    ) -> None:
        assert set(opens(api, invitation, stranger, decision=decision).faults) == {"query/decision"}
        response = api.post(ACCEPTANCE, as_=stranger, json={"token": invitation.token, "decision": decision})
        assert set(response.faults) == {"/decision"}
        assert status_of(api, organization, invitation) == "pending"

    def test_a_token_of_a_deleted_organization_is_not_found_until_the_restore(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        api.delete(organization.path, as_=ada)
        for caller in (None, stranger):
            assert opens(api, invitation, caller).code == "404 not_found"
        assert api.post(ACCEPTANCE, as_=stranger, json={"token": invitation.token}).code == "404 not_found"
        api.patch(organization.path, as_=ada, json={"status": "active"})
        assert accepts(api, invitation, stranger)["membership"]["role"] == "editor"


class TestAcceptInvitation:
    def test_the_invited_user_becomes_a_member_with_the_role(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person, clock: Clock
    ) -> None:
        timestamp = clock.freeze()
        response = accepts(api, invitation, stranger)
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
        assert api.get(f"{organization.path}/members/{stranger.id}", as_=stranger).json == response["membership"]
        assert [o["id"] for o in api.items("/organizations", as_=stranger)] == [organization.id]
        assert list(roles_by_username(api, organization).items())[-1] == ("stranger", "editor")

    def test_the_invitation_becomes_accepted(
        self, api: Api, invitation: Invited, stranger: Person, ada: Person
    ) -> None:
        accepts(api, invitation, stranger)
        record = api.get(invitation.path, as_=ada).json
        assert (record["status"], record["version"], record["acceptUrl"]) == ("accepted", 2, None)

    def test_a_repeated_acceptance_gets_the_same_response_and_changes_nothing(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        first = accepts(api, invitation, stranger)
        before = cloud.stored()
        assert [accepts(api, invitation, stranger) for _ in range(2)] == [first, first]
        assert cloud.stored() == before
        assert history(api, organization, invitation) == ["created", "accepted"]

    def test_a_repeated_acceptance_shows_the_current_membership(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        accepts(api, invitation, stranger)
        api.patch(f"{organization.path}/members/{stranger.id}", as_=ada, json={"role": "admin"})
        repeated = accepts(api, invitation, stranger)
        assert (repeated["role"], repeated["membership"]["role"]) == ("editor", "admin")

    def test_an_acceptance_can_be_repeated_after_the_expiry(
        self, api: Api, invitation: Invited, stranger: Person, clock: Clock
    ) -> None:
        first = accepts(api, invitation, stranger)
        clock.shift(days=40)
        assert accepts(api, invitation, stranger) == first

    @pytest.mark.parametrize("end", ["removed", "left"])
    def test_an_invitation_is_used_up_once_the_membership_has_ended(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person, end: str
    ) -> None:
        accepts(api, invitation, stranger)
        if end == "removed":
            api.delete(f"{organization.path}/members/{stranger.id}", as_=ada)
        else:
            api.post(f"{organization.path}/leave", as_=stranger)
        assert decides(api, invitation, stranger).code == USED
        assert "stranger" not in roles_by_username(api, organization)
        assert accepts(api, invite(api, organization, stranger), stranger)["membership"]["role"] == "member"

    def test_an_invitation_stays_used_up_after_its_user_joins_by_another(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, stranger: Person
    ) -> None:
        accepts(api, invitation, stranger)
        api.delete(f"{organization.path}/members/{stranger.id}", as_=ada)
        accepts(api, invite(api, organization, stranger), stranger)
        assert decides(api, invitation, stranger).code == USED

    def test_a_user_who_joins_as_admin_can_invite_at_once(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        accepts(api, invite(api, organization, stranger, role="admin"), stranger)
        second_invitation = invite(api, organization, operator, as_=stranger, role="admin")
        assert accepts(api, second_invitation, operator)["inviterName"] == "Sophie Germain"

    def test_concurrent_acceptances_create_one_member(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        with ThreadPoolExecutor(5) as threads:
            responses = list(threads.map(lambda _: decides(api, invitation, stranger), range(5)))
        assert {response.status for response in responses} == {200}
        assert len({response.text for response in responses}) == 1
        assert history(api, organization, invitation) == ["created", "accepted"]


class TestWhoCanRespond:
    @pytest.mark.parametrize("email", ["stranger@example.com", "Stranger@Example.COM", "STRANGER@EXAMPLE.COM"])
    def test_the_email_address_is_compared_case_insensitively(
        self, api: Api, organization: Founded, issuer: Issuer, email: str
    ) -> None:
        invitation = invite(api, organization, "StrangeR@example.com")
        assert accepts(api, invitation, issuer.person("stranger", "Sophie", email=email))["status"] == "accepted"

    @pytest.mark.parametrize(
        "claims",
        [
            {"email_verified": False},
            {"email_verified": None},
            {"email_verified": "false"},
            {"email_verified": 1},
            {"email": None},
            {"email": ""},
            {"email": ["stranger@example.com"]},
            {"email": "x@example.com", "email_verified": False},
        ],
    )
    def test_a_missing_or_unverified_email_address_is_rejected(
        self, api: Api, organization: Founded, invitation: Invited, issuer: Issuer, claims: dict[str, object]
    ) -> None:
        person = issuer.person("stranger", "Sophie", **claims)
        self.assert_rejected(api, organization, invitation, person, "has no verified e-mail address")

    @pytest.mark.parametrize(
        "email",
        ["stranger@example.com.example", "stranger@example.co", " stranger@example.com", "stranger+x@example.com"],
    )
    def test_a_different_email_address_is_rejected(
        self, api: Api, organization: Founded, invitation: Invited, issuer: Issuer, email: str
    ) -> None:
        person = issuer.person("stranger", "Sophie", email=email)
        self.assert_rejected(api, organization, invitation, person, "sent to another address")

    def assert_rejected(
        self, api: Api, organization: Founded, invitation: Invited, person: Person, reason: str
    ) -> None:
        for decision in ("accept", "decline"):
            body = {"token": invitation.token, "decision": decision}
            for response in (
                opens(api, invitation, person, decision=decision),
                api.post(ACCEPTANCE, as_=person, json=body),
            ):
                assert response.code == MISMATCH
                assert reason in response.json["detail"]
        assert status_of(api, organization, invitation) == "pending"
        assert "stranger" not in roles_by_username(api, organization)

    def test_members_and_the_owner_cannot_respond_for_the_invited_user(
        self, api: Api, organization: Founded, invitation: Invited, ada: Person, grace: Person, operator: Person
    ) -> None:
        for person in (ada, grace, operator):
            for decision in ("accept", "decline"):
                assert opens(api, invitation, person, decision=decision).code == MISMATCH
        assert status_of(api, organization, invitation) == "pending"

    def test_another_user_with_the_same_address_cannot_respond_after_the_acceptance(
        self, api: Api, organization: Founded, invitation: Invited, issuer: Issuer, stranger: Person
    ) -> None:
        second_user = issuer.person("stranger", "Sophie", sub=OTHER_USER_ID)
        accepts(api, invitation, stranger)
        for decision in ("accept", "decline"):
            assert opens(api, invitation, second_user, decision=decision).code == USED
        assert api.get(f"{organization.path}/members/{OTHER_USER_ID}", as_=stranger).code == "404 not_found"

    def test_api_keys_cannot_respond(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        for key in (make_key(api, organization, "admin"), make_key(api, found(api, stranger), "admin")):
            assert opens(api, invitation, key).code == "403 forbidden"
            assert opens(api, "x", key).code == "403 forbidden"
            assert api.get(ACCEPTANCE, as_=key).code == "403 forbidden"
            response = api.post(ACCEPTANCE, as_=key, json={"token": invitation.token})
            assert response.code == "403 forbidden"

    def test_an_invalid_credential_is_unauthenticated(self, api: Api, invitation: Invited, stranger: Person) -> None:
        for broken in ("x", stranger.credential[:-4], f"atr_{'0' * 38}"):
            assert opens(api, invitation, broken).code == "401 unauthenticated"


class TestDeclineInvitation:
    def test_the_invited_user_declines(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        response = declines(api, invitation, stranger)
        assert (response["status"], response["membership"]) == ("declined", None)
        assert status_of(api, organization, invitation) == "declined"
        assert "stranger" not in roles_by_username(api, organization)
        assert history(api, organization, invitation) == ["created", "declined"]

    def test_a_repeated_decline_gets_the_same_response_and_changes_nothing(
        self, api: Api, organization: Founded, invitation: Invited, stranger: Person
    ) -> None:
        first = declines(api, invitation, stranger)
        assert declines(api, invitation, stranger) == first
        assert history(api, organization, invitation) == ["created", "declined"]

    def test_a_declined_invitation_cannot_be_accepted_nor_an_accepted_one_declined(
        self, api: Api, organization: Founded, stranger: Person, operator: Person
    ) -> None:
        declined_invitation = invite(api, organization, stranger)
        accepted_invitation = invite(api, organization, operator)
        declines(api, declined_invitation, stranger)
        accepts(api, accepted_invitation, operator)
        assert decides(api, declined_invitation, stranger).code == USED
        late = opens(api, accepted_invitation, operator, decision="decline")
        assert late.code == USED
        assert (
            f"You accepted it and are a member. To leave, send POST {organization.path}/leave." in late.json["detail"]
        )
        statuses = [status_of(api, organization, i) for i in (declined_invitation, accepted_invitation)]
        assert statuses == ["declined", "accepted"]
        assert set(roles_by_username(api, organization)) == {"ada", "grace", "edith", "mary", "operator"}

"""The link of an invitation: what it shows, who can accept or decline, and that POST does the same."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import memory_aws
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    accept_invitation,
    create_accepted,
    create_declined,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import (
    add_organization_member,
    leave_organization,
    remove_member,
    roles_by_username,
    set_role,
)

NOT_FOUND, USED = "404 not_found", "410 invitation_used"


@pytest.fixture
def respond(api, invitation):
    """A function that responds to the invitation by POST, and returns the response."""
    return lambda caller, **body: api.post(ACCEPTANCE_PATH, caller=caller, json={"token": invitation.token, **body})


class TestDescribeInvitation:
    def test_anonymous_callers_see_who_invites_to_what(self, api, organization, invitation, ada, stranger):
        answer = open_invitation(api, invitation)
        assert answer.status == 200
        container = {name: organization.record[name] for name in ("id", "name", "slug")}
        record = {name: invitation.record[name] for name in ("role", "email", "status", "expiresAt", "invitedBy")}
        unknown = dict.fromkeys(("platform", "canAccept", "reason", "membership"))
        assert answer.json == {"organization": container, "inviterName": "Ada Lovelace", **record, **unknown}
        assert len(answer.calls.call_names) == 2
        assert answer.headers["Access-Control-Allow-Origin"] == "*"

    def test_opening_the_link_changes_nothing_for_any_caller(self, api, organization, invitation, ada, stranger):
        before = memory_aws.all_items()
        for caller in (None, ada, stranger, stranger):
            answer = open_invitation(api, invitation, caller)
            assert (answer.status, answer.json["status"], answer.json["membership"]) == (200, "pending", None)
            assert set(answer.calls.call_names) <= {"dynamodb:GetItem", "dynamodb:BatchGetItem"}
            assert answer.headers["Cache-Control"] == "no-store"
        for answer in (open_invitation(api, "x"), api.get(ACCEPTANCE_PATH)):
            assert answer.headers["Cache-Control"] == "no-store"
        assert memory_aws.all_items() == before

    def test_a_decision_without_a_credential_is_unauthenticated(self, api, organization, invitation, respond):
        for decision in ("accept", "decline"):
            answer = decide_on_invitation(api, invitation, None, decision)
            assert answer.status_and_code == respond(None).status_and_code == "401 unauthenticated"
            assert "omit the decision" in answer.json["detail"]
        assert invitation_events(api, organization, invitation) == ["created"]

    def test_a_user_sees_whether_they_can_accept(self, api, organization, invitation, ada, stranger, issuer):
        def acceptance_fields(person: Person) -> tuple[object, ...]:
            described = open_invitation(api, invitation, person).json
            return described["canAccept"], described["reason"], described["membership"]

        unverified = issuer.create_person("stranger", "Sophie", email_verified=False)
        assert [acceptance_fields(person) for person in (ada, unverified)] == [(False, "email_mismatch", None)] * 2
        assert acceptance_fields(stranger) == (True, None, None)
        membership = accept_invitation(api, invitation, stranger)["membership"]
        assert acceptance_fields(stranger) == (True, None, membership)
        assert acceptance_fields(ada) == (False, "email_mismatch", None)
        leave_organization(api, organization, stranger)
        assert acceptance_fields(stranger) == (False, "invitation_used", None)


class TestTokens:
    def test_a_malformed_or_altered_token_is_not_found(self, api, organization, invitation, ada):
        token = invitation.token
        malformed = ["", "x", "é", "%00", "a" * 70, "A" * 71, "-_" * 35, "=" * 8, "null"]
        altered = [token[:-1], token + "A", token + "=", token.swapcase(), token * 2]
        for index, letter in enumerate(token):
            altered.append(token[:index] + ("B" if letter == "A" else "A") + token[index + 1 :])
        for text in (*malformed, *altered):
            assert open_invitation(api, text, ada).status_and_code == NOT_FOUND, text
        for text in malformed:
            assert open_invitation(api, text).status_and_code == NOT_FOUND, text
            assert api.post(ACCEPTANCE_PATH, caller=ada, json={"token": text}).status_and_code == NOT_FOUND, text
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_token_cannot_be_built_from_public_ids(self, api, organization, invitation):
        public_ids = bytes.fromhex((organization.id + invitation.id).replace("-", ""))
        key_id = base64.urlsafe_b64decode(f"{invitation.token}==")[36:40]
        for tag in (bytes(20), key_id + bytes(16), key_id + bytes(range(16))):
            forged_token = base64.urlsafe_b64encode(public_ids + (1).to_bytes(4) + tag).rstrip(b"=").decode()
            assert len(forged_token) == len(invitation.token)
            assert open_invitation(api, forged_token).status_and_code == NOT_FOUND

    def test_the_token_is_required_and_decisions_are_limited(self, api, organization, invitation, stranger, respond):
        assert api.get(ACCEPTANCE_PATH).errors == {"query/token": "required"}
        assert api.post(ACCEPTANCE_PATH, caller=stranger, json={}).errors == {"/token": "required"}
        for decision in ("", "Accept", "maybe", "revoke"):
            assert set(open_invitation(api, invitation, stranger, decision=decision).errors) == {"query/decision"}
            assert set(respond(stranger, decision=decision).errors) == {"/decision"}
        for body in ({"token": 3}, {"token": None}, {"token": ["x"]}, {"role": "owner"}):
            assert respond(stranger, **body).status_and_code == "422 validation_failed"
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_token_of_a_deleted_organization_is_not_found(
        self, api, organization, invitation, ada, stranger, respond
    ):
        api.delete(organization.path, caller=ada)
        for answer in (open_invitation(api, invitation), open_invitation(api, invitation, stranger), respond(stranger)):
            assert answer.status_and_code == NOT_FOUND
        api.patch(organization.path, caller=ada, json={"status": "active"})
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "editor"


class TestAcceptInvitation:
    def test_the_invited_user_becomes_a_member_with_the_role(self, api, organization, invitation, ada, stranger, clock):
        timestamp = clock.freeze()
        answer = accept_invitation(api, invitation, stranger)
        assert (answer["status"], answer["role"], answer["email"]) == ("accepted", "editor", stranger.email)
        membership = answer["membership"]
        identity = {"userId": stranger.id, "username": "stranger", "name": "Sophie Germain", "email": stranger.email}
        fields = {"id": membership["id"], "version": 1, "role": "editor", "revokedKeys": None, **identity}
        assert membership == {**fields, **dict.fromkeys(("createdAt", "updatedAt", "joinedAt"), timestamp)}
        assert api.get(organization.member_path(stranger), caller=stranger).json == membership
        assert [o["id"] for o in api.get_items("/organizations", caller=stranger)] == [organization.id]
        assert [*roles_by_username(api, organization).items()][-1] == ("stranger", "editor")
        record = api.get(invitation.path, caller=ada).json
        assert (record["status"], record["version"], record["acceptUrl"]) == ("accepted", 2, None)

    def test_a_repeated_acceptance_changes_nothing(self, api, organization, invitation, stranger, respond, clock):
        first = respond(stranger)
        assert (first.status, first.headers["Cache-Control"]) == (200, "no-store")
        before = memory_aws.all_items()
        for _ in range(2):
            assert accept_invitation(api, invitation, stranger) == first.json
            assert respond(stranger, decision="accept").json == first.json
            clock.shift(days=40)
        assert respond(stranger, decision="decline").status_and_code == USED
        assert memory_aws.all_items() == before
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]
        set_role(api, organization, stranger, "admin")
        repeated = accept_invitation(api, invitation, stranger)
        assert (repeated["role"], repeated["membership"]["role"]) == ("editor", "admin")

    @pytest.mark.parametrize("leave", [remove_member, leave_organization])
    def test_an_invitation_of_a_former_member_is_used_up(self, api, organization, invitation, stranger, leave):
        accept_invitation(api, invitation, stranger)
        assert leave(api, organization, stranger).status == 204
        assert decide_on_invitation(api, invitation, stranger).status_and_code == USED
        assert "stranger" not in roles_by_username(api, organization)
        second_invitation = create_invitation(api, organization, stranger)
        assert accept_invitation(api, second_invitation, stranger)["membership"]["role"] == "member"
        assert decide_on_invitation(api, invitation, stranger).status_and_code == USED

    def test_a_user_who_joins_as_admin_can_invite_at_once(self, api, organization, stranger, operator):
        accept_invitation(api, create_invitation(api, organization, stranger, role="admin"), stranger)
        second_invitation = create_invitation(api, organization, operator, caller=stranger, role="admin")
        assert accept_invitation(api, second_invitation, operator)["inviterName"] == "Sophie Germain"

    def test_concurrent_acceptances_create_one_member(self, api, organization, invitation, stranger):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: decide_on_invitation(api, invitation, stranger), range(5)))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]


def test_the_invited_user_can_decline_and_repeat_that(api, organization, invitation, stranger, respond):
    first = decline_invitation(api, invitation, stranger)
    assert (first["status"], first["membership"]) == ("declined", None)
    assert decline_invitation(api, invitation, stranger) == respond(stranger, decision="decline").json == first
    for answer in (decide_on_invitation(api, invitation, stranger), respond(stranger)):
        assert answer.status_and_code == USED
    assert "stranger" not in roles_by_username(api, organization)
    assert invitation_events(api, organization, invitation) == ["created", "declined"]


def test_a_decision_cannot_be_replaced_by_the_opposite(api, organization, stranger, operator):
    declined, accepted = create_declined(api, organization, stranger), create_accepted(api, organization, operator)
    assert decide_on_invitation(api, declined, stranger).status_and_code == USED
    late = decide_on_invitation(api, accepted, operator, "decline")
    assert late.status_and_code == USED
    advice = f"You accepted it and are a member. To leave, send POST {organization.path}/leave."
    assert advice in late.json["detail"]
    for invitation, status in ((declined, "declined"), (accepted, "accepted")):
        described = open_invitation(api, invitation).json
        assert (described["status"], described["membership"]) == (status, None)
    assert set(roles_by_username(api, organization)) == {"ada", "grace", "edith", "mary", "operator"}


class TestInvitationsOfCurrentMembers:
    def test_a_member_with_a_lower_role_cannot_accept(self, api, organization, invitation, stranger, respond):
        add_organization_member(organization, stranger, "member")
        before = memory_aws.all_items()
        described = open_invitation(api, invitation, stranger).json
        assert (described["canAccept"], described["reason"]) == (False, "already_member")
        for answer in (decide_on_invitation(api, invitation, stranger), respond(stranger)):
            assert answer.status_and_code == "409 already_member"
            assert "as 'member'" in answer.json["detail"]
            assert f"PATCH {organization.member_path(stranger)}" in answer.json["detail"]
        assert memory_aws.all_items() == before
        set_role(api, organization, stranger, "editor")
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "editor"
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    def test_a_member_with_a_lower_role_declines(self, api, organization, invitation, stranger):
        add_organization_member(organization, stranger, "member")
        assert decline_invitation(api, invitation, stranger)["membership"] is None
        assert roles_by_username(api, organization)["stranger"] == "member"

    @pytest.mark.parametrize("role", ["editor", "admin"])
    def test_a_role_that_covers_the_invitation_is_unchanged(self, api, organization, invitation, stranger, role):
        member = add_organization_member(organization, stranger, role)
        answer = accept_invitation(api, invitation, stranger)
        assert (answer["status"], answer["membership"]["id"]) == ("accepted", member.id)
        assert roles_by_username(api, organization)["stranger"] == role

    def test_a_concurrent_demotion_rejects_the_acceptance(self, api, organization, invitation, stranger, monkeypatch):
        add_organization_member(organization, stranger, "editor")
        run_before_next_transaction(monkeypatch, lambda: set_role(api, organization, stranger, "member"))
        assert decide_on_invitation(api, invitation, stranger).status_and_code == "409 already_member"
        assert get_invitation_status(api, organization, invitation) == "pending"

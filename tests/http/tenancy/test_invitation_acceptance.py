"""The link of an invitation: what it shows, who can accept or decline, and that POST does the same."""

import base64
import json
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import memory_aws
from tests.harness.audit_logs import get_last_entry, list_entries
from tests.harness.callers import Person
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    SOPHIE_EMAIL,
    CreatedInvitation,
    accept_invitation,
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
    create_api_key,
    create_organization,
    leave_organization,
    remove_member,
    roles_by_username,
    set_role,
)
from tests.harness.workers import queued_bodies

OTHER_USER_ID = "01939d3c-0000-4000-8000-00000000000a"
MISMATCH, NOT_FOUND, USED = "403 email_mismatch", "404 not_found", "410 invitation_used"
EMAIL, UNVERIFIED, OTHER = "stranger@example.com", "has no verified e-mail address", "sent to another address"


@pytest.fixture
def respond(api, invitation):
    """A function that responds to the invitation by POST, and returns the response."""
    return lambda caller, **body: api.post(ACCEPTANCE_PATH, caller=caller, json={"token": invitation.token, **body})


@pytest.fixture
def respond_all(api, invitation, respond):
    """A function that accepts and declines the invitation, by its link and by POST, and returns the responses."""
    return lambda person: [
        answer
        for decision in ("accept", "decline")
        for answer in (decide_on_invitation(api, invitation, person, decision), respond(person, decision=decision))
    ]


class TestDescribeInvitation:
    def test_anonymous_callers_see_who_invites_to_what(self, api, organization, invitation):
        answer = open_invitation(api, invitation)
        container = {name: organization.record[name] for name in ("id", "name", "slug")}
        record = {name: invitation.record[name] for name in ("role", "email", "status", "expiresAt", "invitedBy")}
        unknown = dict.fromkeys(("platform", "canAccept", "reason", "membership"))
        assert answer.json == {"organization": container, "inviterName": "Ada Lovelace", **record, **unknown}
        assert len(answer.calls.call_names) == 2

    def test_opening_the_link_changes_nothing_and_reveals_no_token(self, api, organization, invitation, ada, stranger):
        before = memory_aws.all_items()
        for caller in (None, ada, stranger, stranger):
            answer = open_invitation(api, invitation, caller)
            assert (answer.status, answer.json["status"], answer.json["membership"]) == (200, "pending", None)
            assert set(answer.calls.call_names) <= {"dynamodb:GetItem", "dynamodb:BatchGetItem"}
            assert answer.headers["Cache-Control"] == "no-store"
            assert invitation.token[-20:] not in answer.text + str(answer.headers)
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
    @pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 70, "A" * 71, "-_" * 35, "=" * 8, "null"])
    def test_a_malformed_token_is_not_found(self, api, ada, token):
        answers = [*(open_invitation(api, token, caller) for caller in (None, ada))]
        answers.append(api.post(ACCEPTANCE_PATH, caller=ada, json={"token": token}))
        for answer in answers:
            answer.expect_problem(NOT_FOUND, "The token in the link is not valid.", "ask to be invited again")

    def test_the_token_is_required_and_decisions_are_limited(self, api, organization, invitation, stranger, respond):
        assert api.get(ACCEPTANCE_PATH).errors == {"query/token": "required"}
        assert api.post(ACCEPTANCE_PATH, caller=stranger, json={}).errors == {"/token": "required"}
        for decision in ("", "Accept", "maybe", "revoke"):
            assert set(open_invitation(api, invitation, stranger, decision=decision).errors) == {"query/decision"}
            assert set(respond(stranger, decision=decision).errors) == {"/decision"}
        for body in ({"token": 3}, {"token": None}, {"token": ["x"]}, {"role": "owner"}):
            assert respond(stranger, **body).status_and_code == "422 validation_failed"
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_token_of_a_deleted_organization_is_not_found(self, api, organization, invitation, stranger, respond):
        api.delete(organization.path, caller=organization.owner)
        for answer in (open_invitation(api, invitation), open_invitation(api, invitation, stranger), respond(stranger)):
            assert answer.status_and_code == NOT_FOUND
        api.patch(organization.path, caller=organization.owner, json={"status": "active"})
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "editor"


class TestAcceptInvitation:
    def test_the_invited_user_becomes_a_member_with_the_role(self, api, organization, invitation, ada, stranger, clock):
        timestamp = clock.freeze()
        answer = accept_invitation(api, invitation, stranger)
        assert (answer["status"], answer["role"], answer["email"]) == ("accepted", "editor", stranger.email)
        membership = answer["membership"]
        assert (membership["userId"], membership["role"], membership["joinedAt"]) == (stranger.id, "editor", timestamp)
        assert api.get(organization.member_path(stranger), caller=stranger).json == membership
        assert [o["id"] for o in api.get_items("/organizations", caller=stranger)] == [organization.id]
        assert [*roles_by_username(api, organization).items()][-1] == ("stranger", "editor")
        record = api.get(invitation.path, caller=ada).json
        assert (record["status"], record["version"], record["acceptUrl"]) == ("accepted", 2, None)

    @pytest.mark.parametrize("leave", [remove_member, leave_organization])
    def test_repeating_an_acceptance_changes_nothing_until_the_membership_ends(
        self, api, organization, invitation, stranger, respond, clock, leave
    ):
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
            answers = [*threads.map(lambda _: decide_on_invitation(api, invitation, stranger), range(5))]
        assert ({answer.status for answer in answers}, len({answer.text for answer in answers})) == ({200}, 1)
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]


def test_the_invited_user_can_decline_and_repeat_that_but_not_accept_later(
    api, organization, invitation, stranger, respond
):
    first = decline_invitation(api, invitation, stranger)
    assert (first["status"], first["membership"]) == ("declined", None)
    assert decline_invitation(api, invitation, stranger) == respond(stranger, decision="decline").json == first
    for answer in (decide_on_invitation(api, invitation, stranger), respond(stranger)):
        assert answer.status_and_code == USED
    assert "stranger" not in roles_by_username(api, organization)
    assert invitation_events(api, organization, invitation) == ["created", "declined"]
    entry = get_last_entry(api, organization)
    assert (entry["actor"]["name"], entry["target"]["name"]) == (stranger.name, stranger.email)
    assert entry["changes"] == [{"field": "status", "from": "pending", "to": "declined"}]
    described = open_invitation(api, invitation).json
    assert (described["status"], described["membership"]) == ("declined", None)


def test_an_accepted_invitation_cannot_be_declined(api, organization, invitation, stranger):
    accept_invitation(api, invitation, stranger)
    advice = f"You accepted it and are a member. To leave, send POST {organization.path}/leave."
    decide_on_invitation(api, invitation, stranger, "decline").expect_problem(USED, advice)
    described = open_invitation(api, invitation).json
    assert (described["status"], described["membership"]) == ("accepted", None)
    assert set(roles_by_username(api, organization)) == {"ada", "grace", "edith", "mary", "stranger"}


class TestInvitationsOfCurrentMembers:
    def test_a_member_with_a_lower_role_cannot_accept(self, api, organization, invitation, stranger, respond):
        add_organization_member(organization, stranger, "member")
        before = memory_aws.all_items()
        described = open_invitation(api, invitation, stranger).json
        assert (described["canAccept"], described["reason"]) == (False, "already_member")
        for answer in (decide_on_invitation(api, invitation, stranger), respond(stranger)):
            advice = f"PATCH {organization.member_path(stranger)}"
            answer.expect_problem("409 already_member", "as 'member'", advice)
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


class TestInvitedPerson:
    @pytest.mark.parametrize("email", ["stranger@example.com", "Stranger@Example.COM", "STRANGER@EXAMPLE.COM"])
    def test_the_email_address_is_compared_case_insensitively(self, api, organization, issuer, email):
        invitation = create_invitation(api, organization, "StrangeR@example.com")
        person = issuer.create_person("stranger", "Sophie", email=email)
        assert accept_invitation(api, invitation, person)["status"] == "accepted"

    @pytest.mark.parametrize(
        ("claims", "reason"),
        [
            *[({"email_verified": value}, UNVERIFIED) for value in (False, None, "false", 1)],
            *[({"email": value}, UNVERIFIED) for value in (None, "", [EMAIL])],
            ({"email": "x@example.com", "email_verified": False}, UNVERIFIED),
            *[({"email": value}, OTHER) for value in (f"{EMAIL}.example", EMAIL[:-1], f" {EMAIL}")],
            ({"email": "stranger+x@example.com"}, OTHER),
        ],
    )
    def test_another_address_is_rejected(self, api, organization, invitation, issuer, respond_all, claims, reason):
        for answer in respond_all(issuer.create_person("stranger", "Sophie", **claims)):
            answer.expect_problem(MISMATCH, reason)
        assert get_invitation_status(api, organization, invitation) == "pending"
        assert "stranger" not in roles_by_username(api, organization)

    def test_nobody_and_no_key_responds_for_the_invited_user(
        self, api, organization, invitation, ada, grace, operator, stranger, respond_all
    ):
        for person in (ada, grace, operator):
            assert {answer.status_and_code for answer in respond_all(person)} == {MISMATCH}
        for container in (organization, create_organization(api, stranger)):
            key = create_api_key(api, container, "admin")
            answers = [open_invitation(api, token, key) for token in (invitation, "x")]
            answers += [api.get(ACCEPTANCE_PATH, caller=key), *respond_all(key)]
            assert {answer.status_and_code for answer in answers} == {"403 forbidden"}
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_another_user_with_the_address_cannot_respond(
        self, api, organization, invitation, issuer, stranger, respond_all
    ):
        second_user = issuer.create_person("stranger", "Sophie", sub=OTHER_USER_ID)
        accept_invitation(api, invitation, stranger)
        assert {answer.status_and_code for answer in respond_all(second_user)} == {USED}
        path = f"{organization.path}/members/{OTHER_USER_ID}"
        assert api.get(path, caller=stranger).status_and_code == NOT_FOUND


class TestSecrets:
    def test_no_token_is_stored_queued_or_logged(
        self, api, organization, stranger, clock, workers, mailbox, caplog, capfd
    ):
        caplog.set_level(logging.DEBUG, logger="atrium")
        idempotency = [{"Idempotency-Key": key} for key in ("1", "2")]
        body = {"email": stranger.email}
        answer = api.post(f"{organization.path}/invite", caller=organization.owner, json=body, headers=idempotency[0])
        first = CreatedInvitation(answer.json, answer.location)
        clock.shift(minutes=2)
        resent = api.post(f"{first.path}/resend", caller=organization.owner, headers=idempotency[1])
        second = CreatedInvitation(resent.json, first.path)
        for invitation in (first, second):
            open_invitation(api, invitation)
            open_invitation(api, invitation, organization.owner)
            open_invitation(api, invitation.token[:-1], stranger)
        body = {"token": second.token}
        assert api.post(ACCEPTANCE_PATH, caller=stranger, json=body, headers=idempotency[0]).status == 200
        pending = create_invitation(api, organization, SOPHIE_EMAIL)
        texts = []
        for step in (lambda: None, workers.run_sweep):
            step()
            stored = [memory_aws.all_items(), *map(queued_bodies, ("events.fifo", "jobs"))]
            texts.append(json.dumps(stored, default=repr))
        entries = list_entries(api, organization)
        assert {entry["data"].get("acceptUrl") for entry in entries} == {None}
        workers.run_until_idle()
        assert pending.token in mailbox.emails[0].text
        printed = capfd.readouterr()
        records = [vars(record) for record in caplog.records if record.name == "atrium"]
        logged = json.dumps(records, default=repr) + printed.out + printed.err
        assert "accept_invitation" in logged
        for token in (first.token, second.token, pending.token):
            token_bytes = base64.urlsafe_b64decode(f"{token}==")
            claim_and_key_id, tag = token_bytes[:40], token_bytes[40:]
            assert (len(claim_and_key_id), len(tag)) == (40, 16)
            for secret in (token, token[-20:], tag.hex(), repr(tag)[2:-1], base64.b64encode(token_bytes).decode()):
                found = [secret in text for text in (*texts, json.dumps(entries), logged)]
                assert found == [False] * 4
        assert all("organization.invitation" in text for text in texts)

"""Invitations whose inviter left the organization, or has a lower role now."""

from functools import partial

import pytest

from chalicelib.kernel.execution.context import Context
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    REVOKED_PROBLEM,
    SOPHIE_EMAIL,
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    resend_invitation,
    run_before_next_transaction,
)
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    leave_organization,
    remove_member,
    revoke_api_key,
    set_role,
    transfer_ownership,
)


@pytest.fixture
def by_grace(api, organization, grace, stranger):
    return create_invitation(api, organization, stranger, caller=grace)


@pytest.fixture
def by_ada(api, organization):
    return create_invitation(api, organization, SOPHIE_EMAIL)


class TestInvitationsOfAFormerMember:
    @pytest.mark.parametrize("depart", [remove_member, leave_organization])
    def test_an_invitation_ends_with_its_inviter(self, api, organization, grace, stranger, by_grace, by_ada, depart):
        depart(api, organization, grace)
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert get_invitation_status(api, organization, by_grace) == "revoked"
        assert open_invitation(api, by_ada).json["status"] == "pending"
        repeated = create_invitation(api, organization, stranger)
        assert accept_invitation(api, repeated, stranger)["membership"]["role"] == "member"
        assert open_invitation(api, by_grace, stranger).status_and_code == REVOKED_PROBLEM

    @pytest.mark.parametrize("index_lags", [False, True])
    def test_only_invitations_after_a_return_are_valid(
        self, api, organization, grace, by_grace, run_tasks_after, monkeypatch, *, index_lags
    ):
        if index_lags:
            monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        remove_member(api, organization, grace)
        add_organization_member(organization, grace, "admin")
        new_invitation = create_invitation(api, organization, "later@example.org", caller=grace)
        for _ in range(2):
            answers = [open_invitation(api, each) for each in (by_grace, new_invitation)]
            assert (answers[0].status_and_code, answers[1].json["status"]) == (REVOKED_PROBLEM, "pending")
            run_tasks_after(minutes=1)
        assert get_invitation_status(api, organization, by_grace) == "revoked"

    def test_who_accepted_before_stays_a_member(self, api, organization, grace, by_grace, stranger, run_tasks_after):
        accept_invitation(api, by_grace, stranger)
        remove_member(api, organization, grace)
        run_tasks_after(minutes=1)
        assert get_invitation_status(api, organization, by_grace) == "accepted"
        repeated = accept_invitation(api, by_grace, stranger)
        assert (repeated["membership"]["userId"], repeated["inviterName"]) == (stranger.id, None)
        items = [item for item in memory_aws.all_items() if item["pk"] == f"O#{organization.id}"]
        kinds = {item["kind"] for item in items if "kind" in item}
        assert kinds == {"organization", "organization.member", "organization.invitation"}

    def test_an_expired_invitation_stays_expired(self, api, organization, grace, by_grace, clock, run_tasks_after):
        clock.shift(days=8)
        remove_member(api, organization, grace)
        for _ in range(2):
            assert get_invitation_status(api, organization, by_grace) == "expired"
            run_tasks_after(minutes=1)
        assert invitation_events(api, organization, by_grace) == ["created", "expired"]

    def test_invitations_are_rejected_before_they_are_revoked_if_the_index_lags(
        self, api, organization, grace, stranger, by_grace, by_ada, run_tasks_after, monkeypatch
    ):
        monkeypatch.setattr(Context, "query_index", lambda *_, **__: [])
        remove_member(api, organization, grace)
        for caller in (None, stranger):
            assert open_invitation(api, by_grace, caller).status_and_code == REVOKED_PROBLEM
        assert invitation_events(api, organization, by_grace) == ["created"]
        for _ in range(2):
            run_tasks_after(minutes=1)
        (revocation, _) = list_entries(api, organization, targetId=by_grace.id)
        assert revocation["type"] == "organization.invitation.revoked"
        assert revocation["actor"] == {"type": "system", "id": None, "name": None}
        assert revocation["context"]["operationId"] == "members.depart"
        assert revocation["changes"] == [{"field": "status", "from": "pending", "to": "revoked"}]
        statuses = [get_invitation_status(api, organization, invitation) for invitation in (by_grace, by_ada)]
        assert statuses == ["revoked", "pending"]


@pytest.fixture
def invitation(api, organization, grace, stranger):
    """An invitation to become an admin, which Grace, an admin, sent to Sophie."""
    return create_invitation(api, organization, stranger, caller=grace, role="admin")


@pytest.fixture
def demote(api, organization, grace):
    return lambda role: set_role(api, organization, grace, role)


class TestInvitationsOfADemotedMember:
    @pytest.mark.parametrize("role", ["member", "editor"])
    def test_an_invitation_above_the_new_role_is_rejected_and_can_only_be_replaced(
        self, api, organization, stranger, invitation, role, demote, clock
    ):
        assert demote(role).status == 200
        clock.shift(minutes=2)
        before = memory_aws.all_items()
        answers = [
            *(open_invitation(api, invitation, caller) for caller in (None, stranger, organization.owner)),
            *(decide_on_invitation(api, invitation, stranger, decision) for decision in ("accept", "decline")),
            api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token}),
        ]
        assert {answer.status_and_code for answer in answers} == {REVOKED_PROBLEM}
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
        assert memory_aws.all_items() == before
        answer = api.post(f"{invitation.path}/resend", caller=organization.owner)
        answer.expect_problem("409 invalid_transition", "cannot grant 'admin' any more")
        with clock.shift_temporarily(days=8):
            assert open_invitation(api, invitation).status_and_code == "410 invitation_expired"
        assert api.delete(invitation.path, caller=organization.owner).status == 204
        replacement = create_invitation(api, organization, stranger, role="admin")
        assert accept_invitation(api, replacement, stranger)["status"] == "accepted"

    @pytest.mark.parametrize(("new_role", "role"), [("member", "member"), ("editor", "member"), ("editor", "editor")])
    def test_an_invitation_up_to_the_new_role_stays_valid(
        self, api, organization, grace, stranger, new_role, role, demote, clock
    ):
        invitation = create_invitation(api, organization, stranger, caller=grace, role=role)
        demote(new_role)
        assert open_invitation(api, invitation).json["status"] == "pending"
        clock.shift(minutes=2)
        resent = resend_invitation(api, organization, invitation)
        assert accept_invitation(api, resent, stranger)["membership"]["role"] == role

    def test_a_restored_role_makes_it_valid_again(
        self, api, organization, stranger, invitation, demote, run_tasks_after
    ):
        demote("editor")
        run_tasks_after(minutes=1)
        assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
        assert get_invitation_status(api, organization, invitation) == "pending"
        demote("admin")
        assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]

    @pytest.mark.parametrize("respond", [accept_invitation, decline_invitation])
    def test_repeating_an_earlier_response_returns_the_same(self, api, stranger, invitation, respond, demote):
        first = respond(api, invitation, stranger)
        demote("member")
        assert respond(api, invitation, stranger) == first

    @pytest.mark.parametrize("change", [leave_organization, partial(set_role, role="editor")], ids=["leave", "demote"])
    def test_accepting_while_the_inviter_leaves_or_is_demoted_is_rejected(
        self, api, organization, grace, stranger, invitation, monkeypatch, change
    ):
        run_before_next_transaction(monkeypatch, lambda: change(api, organization, grace))
        assert decide_on_invitation(api, invitation, stranger).status_and_code == REVOKED_PROBLEM
        assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"

    def test_the_invitations_of_a_former_owner_and_of_a_key_stay_valid(
        self, api, organization, ada, grace, stranger, operator, demote, clock
    ):
        by_owner = create_invitation(api, organization, operator, role="admin")
        key = create_api_key(api, organization, "admin", caller=grace)
        by_key = create_invitation(api, organization, stranger, caller=key, role="admin")
        demote("member")
        revoke_api_key(api, organization, key)
        clock.shift(minutes=2)
        accepted = accept_invitation(api, resend_invitation(api, organization, by_key), stranger)
        assert (accepted["membership"]["role"], accepted["inviterName"]) == ("admin", None)
        assert transfer_ownership(api, organization, ada, grace.id).status == 200
        assert accept_invitation(api, by_owner, operator)["membership"]["role"] == "admin"

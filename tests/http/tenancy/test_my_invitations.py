"""The invitations to the caller's address: their list, and answers without the link."""

import pytest

from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.me.logic import pending_invitations
from tests.harness import memory_aws
from tests.harness.audit_logs import get_last_entry
from tests.harness.erasures import complete_erasure
from tests.harness.invitations import (
    accept_invitation,
    create_declined,
    create_invitation,
    decide_on_invitation,
    get_invitation_status,
    invitation_events,
    open_invitation,
    resend_invitation,
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

PATH = "/me/invitations"
UNKNOWN_ID = "01939d3c-0000-7000-8000-0000000000ff"


@pytest.fixture
def respond(api):
    """A function that responds to an invitation by its id, and returns the response."""

    return lambda invitation, caller, decision="accept": api.post(
        f"{PATH}/{invitation.id}", caller=caller, json={"decision": decision}
    )


def listed_ids(api, caller, limit=25):
    pages = api.get_pages(PATH, caller=caller, query={"limit": limit})
    return [[each["id"] for each in page["items"]] for page in pages]


class TestList:
    def test_shows_the_invitations_as_the_overview_does_newest_first(self, api, organization, platform, stranger):
        for place in (organization, platform):
            create_invitation(api, place, stranger, role="editor")
        answer = api.get(PATH, caller=stranger)
        assert [each["platform"] is None for each in answer.json["items"]] == [False, True]
        assert answer.json["items"] == api.get("/me", caller=stranger).json["pendingInvitations"]
        assert answer.calls.call_names == ["dynamodb:Query", "dynamodb:BatchGetItem", "dynamodb:BatchGetItem"]

    def test_has_pages_which_omit_what_cannot_be_accepted(self, api, organization, ada, grace, stranger):
        places = [create_organization(api, ada) for _ in range(4)]
        first, second, third, fourth = (create_invitation(api, each, stranger) for each in places)
        by_grace = create_invitation(api, organization, stranger, caller=grace)
        assert listed_ids(api, stranger, limit=2) == [[by_grace.id, fourth.id], [third.id, second.id], [first.id]]
        remove_member(api, organization, grace)
        api.delete(third.path, caller=ada).expect(204)
        api.delete(places[0].path, caller=ada).expect(204)
        create_declined(api, create_organization(api, ada), stranger)
        assert listed_ids(api, stranger, limit=2) == [[], [fourth.id], [second.id]]

    def test_a_full_page_is_read_in_parallel_batches(self, api, ada, stranger, monkeypatch):
        monkeypatch.setattr(pending_invitations, "INVITATIONS_PER_READ", 2)
        invitations = [create_invitation(api, create_organization(api, ada), stranger) for _ in range(5)]
        answer = api.get(PATH, caller=stranger)
        assert [each["id"] for each in answer.json["items"]] == [each.id for each in reversed(invitations)]
        assert sorted(answer.calls.call_names) == ["dynamodb:BatchGetItem"] * 6 + ["dynamodb:Query"]

    def test_expired_invitations_are_not_listed(self, api, organization, issuer, stranger, clock):
        create_invitation(api, organization, stranger, expiresInDays=1)
        clock.shift(hours=25)
        assert listed_ids(api, issuer.create_person("stranger", "Sophie")) == [[]]

    def test_is_empty_without_a_verified_address_and_for_other_people(self, api, organization, issuer, stranger, grace):
        create_invitation(api, organization, stranger)
        unverified = issuer.create_person("stranger", "Sophie", email_verified=False)
        assert listed_ids(api, unverified) == listed_ids(api, grace) == [[]]
        assert api.get(PATH, caller=create_api_key(api, organization, "admin")).status_and_code == "403 forbidden"

    def test_a_cursor_continues_after_the_address_of_the_caller_has_changed(self, api, ada, issuer, stranger):
        older, _newer = [create_invitation(api, create_organization(api, ada), stranger) for _ in range(2)]
        cursor = api.get(PATH, caller=stranger, query={"limit": 1}).json["nextCursor"]
        renamed = issuer.create_person("stranger", "Sophie", email="sophie@example.org")
        assert renamed.id == stranger.id
        assert api.get(PATH, caller=renamed, query={"cursor": cursor}).expect(200).json["items"] == []
        (item,) = api.get(PATH, caller=stranger, query={"cursor": cursor}).json["items"]
        assert item["id"] == older.id


class TestAccept:
    def test_has_the_effect_and_the_response_of_the_link(self, api, organization, invitation, stranger, respond):
        answer = respond(invitation, stranger)
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.json == decide_on_invitation(api, invitation, stranger).json
        assert answer.json["membership"]["userId"] == stranger.id
        assert roles_by_username(api, organization)["stranger"] == invitation.record["role"]
        entry = get_last_entry(api, organization)
        assert (entry["type"], entry["target"]["id"]) == ("organization.invitation.accepted", invitation.id)
        assert entry["actor"]["id"] == stranger.id
        assert listed_ids(api, stranger) == [[]]

    def test_joins_a_platform(self, api, organization, platform, stranger, respond):
        invitation = create_invitation(api, platform, stranger, role="editor")
        answer = respond(invitation, stranger)
        assert (answer.json["platform"]["id"], answer.json["membership"]["role"]) == (platform.id, "editor")
        assert get_last_entry(api, organization)["type"] == "platform.invitation.accepted"

    def test_can_be_repeated_until_the_membership_ends(self, api, organization, invitation, stranger, respond):
        answers = [respond(invitation, stranger) for _ in range(3)]
        assert [each.status for each in answers] == [200] * 3
        assert answers[0].json == answers[1].json == answers[2].json
        assert invitation_events(api, organization, invitation) == ["created", "accepted"]
        respond(invitation, stranger, "decline").expect_problem("410 invitation_used", "You accepted it")
        leave_organization(api, organization, stranger)
        assert respond(invitation, stranger).status_and_code == "410 invitation_used"

    def test_works_whichever_link_is_the_latest(self, api, organization, invitation, stranger, clock, respond):
        clock.shift(minutes=2)
        resend_invitation(api, organization, invitation)
        assert open_invitation(api, invitation, stranger).status_and_code == "410 invitation_revoked"
        assert respond(invitation, stranger).status == 200

    def test_a_member_with_a_lower_role_stays_as_they_are(self, api, organization, stranger, respond):
        invitation = create_invitation(api, organization, stranger, role="editor")
        add_organization_member(organization, stranger, "member")
        respond(invitation, stranger).expect_problem("409 already_member", "You are a member already, as 'member'.")
        assert get_invitation_status(api, organization, invitation) == "pending"


def test_a_declined_invitation_stays_declined(api, organization, invitation, stranger, respond):
    answers = [respond(invitation, stranger, "decline") for _ in range(2)]
    assert [(each.status, each.json["status"], each.json["membership"]) for each in answers] == [
        (200, "declined", None)
    ] * 2
    assert invitation_events(api, organization, invitation) == ["created", "declined"]
    assert respond(invitation, stranger).status_and_code == "410 invitation_used"
    assert "stranger" not in roles_by_username(api, organization)


class TestRejectedResponses:
    def test_a_foreign_invitation_looks_like_an_unknown_one(self, api, invitation, ada, grace, respond):
        unknown = api.post(f"{PATH}/{UNKNOWN_ID}", caller=grace, json={"decision": "accept"})
        for caller in (grace, ada):
            foreign = respond(invitation, caller)
            assert foreign.status_and_code == "404 not_found"
            assert foreign.json["detail"] == unknown.json["detail"]

    def test_a_user_without_a_verified_address_learns_why(self, api, organization, invitation, issuer, respond):
        unverified = issuer.create_person("stranger", "Sophie", email_verified=False)
        respond(invitation, unverified).expect_problem("403 email_mismatch", "has no verified e-mail address")
        assert get_invitation_status(api, organization, invitation) == "pending"

    def test_a_revoked_invitation_is_gone(self, api, organization, invitation, ada, stranger, respond):
        api.delete(invitation.path, caller=ada).expect(204)
        respond(invitation, stranger).expect_problem("410 invitation_revoked", "Ask to be invited again")

    def test_an_expired_invitation_is_gone_before_and_after_its_task(
        self, api, organization, issuer, stranger, clock, workers, respond
    ):
        invitation = create_invitation(api, organization, stranger, expiresInDays=1)
        clock.shift(hours=25)
        person = issuer.create_person("stranger", "Sophie")
        assert respond(invitation, person).status_and_code == "410 invitation_expired"
        workers.run_until_idle()
        assert invitation_events(api, organization, invitation) == ["created", "expired"]
        assert respond(invitation, person).status_and_code == "410 invitation_expired"

    @pytest.mark.parametrize("role", ["editor", None])
    def test_an_inviter_who_cannot_grant_the_role_any_more_makes_it_invalid(
        self, api, organization, grace, stranger, respond, role
    ):
        invitation = create_invitation(api, organization, stranger, caller=grace, role="admin")
        if role:
            set_role(api, organization, grace, role).expect(200)
        else:
            remove_member(api, organization, grace)
        assert respond(invitation, stranger).status_and_code == "410 invitation_revoked"

    def test_an_inviter_who_is_removed_meanwhile_makes_it_invalid(
        self, api, organization, grace, stranger, monkeypatch, respond
    ):
        invitation = create_invitation(api, organization, stranger, caller=grace)
        run_before_next_transaction(monkeypatch, lambda: remove_member(api, organization, grace))
        assert respond(invitation, stranger).status_and_code == "410 invitation_revoked"
        assert "stranger" not in roles_by_username(api, organization)

    def test_those_of_a_deleted_organization_are_not_found(self, api, organization, invitation, stranger, respond):
        api.delete(organization.path, caller=organization.owner).expect(204)
        assert respond(invitation, stranger).status_and_code == "404 not_found"

    def test_the_decision_is_required(self, api, invitation, stranger):
        path = f"{PATH}/{invitation.id}"
        assert api.post(path, caller=stranger, json={}).errors == {"/decision": "required"}
        assert set(api.post(path, caller=stranger, json={"decision": "maybe"}).errors) == {"/decision"}

    def test_keys_and_anonymous_callers_are_rejected(self, api, organization, invitation, respond):
        assert respond(invitation, create_api_key(api, organization, "admin")).status_and_code == "403 forbidden"
        assert respond(invitation, None).status_and_code == "401 unauthenticated"


def test_an_erasure_leaves_nothing_in_the_partition_of_the_address(
    api, workers, organization, invitation, stranger, clock
):
    accept_invitation(api, invitation, stranger)
    partition = address_partition(stranger.email)
    assert [item["sk"] for item in memory_aws.all_items() if item["pk"] == partition] == [invitation.id]
    complete_erasure(api, workers, clock, organization, userId=stranger.id)
    assert [item for item in memory_aws.all_items() if item["pk"] == partition] == []

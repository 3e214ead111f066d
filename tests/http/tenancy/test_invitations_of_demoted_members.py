import pytest

from tests.harness import memory_aws
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    REVOKED_PROBLEM,
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
from tests.harness.organizations import create_api_key, revoke_api_key, set_role, transfer_ownership


@pytest.fixture
def invitation(api, organization, grace, stranger):
    """An invitation to become an admin, which Grace, an admin, sent to Sophie."""
    return create_invitation(api, organization, stranger, caller=grace, role="admin")


@pytest.fixture
def demote(api, organization, grace):
    """A function that gives Grace another role."""
    return lambda role: set_role(api, organization, grace, role)


@pytest.mark.parametrize("role", ["member", "editor"])
def test_an_invitation_above_the_new_role_is_rejected_at_once(
    api, organization, stranger, invitation, role, demote, clock
):
    assert demote(role).status == 200
    before = memory_aws.all_items()
    answers = [
        *(open_invitation(api, invitation, caller) for caller in (None, stranger, organization.owner)),
        *(decide_on_invitation(api, invitation, stranger, decision) for decision in ("accept", "decline")),
        api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token}),
    ]
    assert {answer.status_and_code for answer in answers} == {REVOKED_PROBLEM}
    assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"
    assert memory_aws.all_items() == before
    clock.shift(days=8)
    assert open_invitation(api, invitation).status_and_code == "410 invitation_expired"


@pytest.mark.parametrize(("new_role", "role"), [("member", "member"), ("editor", "member"), ("editor", "editor")])
def test_an_invitation_up_to_the_new_role_stays_valid_and_can_be_resent(
    api, organization, grace, stranger, new_role, role, demote, clock
):
    invitation = create_invitation(api, organization, stranger, caller=grace, role=role)
    demote(new_role)
    assert open_invitation(api, invitation).json["status"] == "pending"
    clock.shift(minutes=2)
    resent = resend_invitation(api, organization, invitation)
    assert accept_invitation(api, resent, stranger)["membership"]["role"] == role


def test_an_invitation_is_valid_again_when_the_role_is_restored(
    api, organization, stranger, invitation, demote, clock, workers
):
    demote("editor")
    clock.shift(minutes=1)
    workers.run_until_idle()
    assert open_invitation(api, invitation).status_and_code == REVOKED_PROBLEM
    assert get_invitation_status(api, organization, invitation) == "pending"
    demote("admin")
    assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"
    assert invitation_events(api, organization, invitation) == ["created", "accepted"]


def test_the_invitation_of_a_former_owner_stays_valid(api, organization, ada, grace, stranger):
    invitation = create_invitation(api, organization, stranger, role="admin")
    assert transfer_ownership(api, organization, ada, grace.id).status == 200
    assert accept_invitation(api, invitation, stranger)["membership"]["role"] == "admin"


@pytest.mark.parametrize("respond", [accept_invitation, decline_invitation])
def test_repeating_an_earlier_response_returns_the_same(api, stranger, invitation, respond, demote):
    first = respond(api, invitation, stranger)
    demote("member")
    assert respond(api, invitation, stranger) == first


def test_accepting_during_the_demotion_is_rejected(api, organization, stranger, invitation, demote, monkeypatch):
    run_before_next_transaction(monkeypatch, lambda: demote("editor"))
    assert decide_on_invitation(api, invitation, stranger).status_and_code == REVOKED_PROBLEM
    assert api.get(organization.path, caller=stranger).status_and_code == "404 not_found"


def test_an_invalid_invitation_is_not_resent_but_can_be_revoked_and_replaced(
    api, organization, stranger, invitation, demote, clock
):
    demote("editor")
    clock.shift(minutes=2)
    answer = api.post(f"{invitation.path}/resend", caller=organization.owner)
    assert answer.status_and_code == "409 invalid_transition"
    assert "cannot grant 'admin' any more" in answer.json["detail"]
    assert api.delete(invitation.path, caller=organization.owner).status == 204
    replacement = create_invitation(api, organization, stranger, role="admin")
    assert accept_invitation(api, replacement, stranger)["status"] == "accepted"


def test_the_invitation_of_a_key_does_not_depend_on_its_creators_role(
    api, organization, grace, stranger, demote, clock
):
    key = create_api_key(api, organization, "admin", caller=grace)
    invitation = create_invitation(api, organization, stranger, caller=key, role="admin")
    demote("member")
    revoke_api_key(api, organization, key)
    clock.shift(minutes=2)
    resent = resend_invitation(api, organization, invitation)
    assert accept_invitation(api, resent, stranger)["membership"]["role"] == "admin"

"""Concurrent requests with an invitation's link, against the running service."""

from functools import partial
from typing import Final

import pytest

from tests.emulator.api_clients import outcome_code, run_concurrently
from tests.emulator.log_reader import list_entries, list_items, read_verified_log
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

ATTEMPTS: Final = 2


def send_invitation(inviter, organization, role="member"):
    """Invite Sophie, and return the id of the invitation and the token in its link."""
    body = {"email": "sophie@example.com", "role": role}
    response = inviter.post(f"/organizations/{organization}/invite", json=body)
    assert response.status_code == 201, response.text
    return response.json()["id"], token_from_link(response.json()["acceptUrl"])


def follow(person, token, decision="accept"):
    return person.get(ACCEPTANCE_PATH, params={"token": token, "decision": decision})


@pytest.mark.parametrize(
    ("rival", "outcomes", "event_if_rejected"),
    [
        ("accept", {("200", "200")}, None),
        ("accept as another person", {("200", "invitation_used"), ("invitation_used", "200")}, "accepted"),
        ("decline", {("200", "invitation_used"), ("invitation_used", "200")}, "declined"),
        ("revoke", {("200", "invalid_transition"), ("invitation_revoked", "204")}, "revoked"),
        ("inviter leaves", {("200", "204"), ("invitation_revoked", "204")}, None),
    ],
)
def test_an_acceptance_and_a_concurrent_request_have_one_winner(rival, outcomes, event_if_rejected, create_client):
    ada, grace, sophie, namesake = map(create_client, ("ada", "grace", "sophie", "sophie"))
    for _ in range(ATTEMPTS):
        organization = ada.create_organization()
        path, inviter = f"/organizations/{organization}", ada
        if rival == "inviter leaves":
            ada.invite_and_accept(organization, grace, "admin")
            inviter = grace
        invitation, token = send_invitation(inviter, organization, "editor")
        rivals = {
            "accept": partial(follow, sophie, token),
            "accept as another person": partial(follow, namesake, token),
            "decline": partial(follow, sophie, token, "decline"),
            "revoke": partial(ada.delete, f"{path}/invitations/{invitation}"),
            "inviter leaves": partial(grace.post, f"{path}/leave"),
        }
        accepted, other = run_concurrently(partial(follow, sophie, token), rivals[rival])
        assert (outcome_code(accepted), outcome_code(other)) in outcomes
        editors = [sophie.user_id] if accepted.is_success else []
        if rival == "accept":
            assert accepted.content == other.content
            assert accepted.json()["membership"]["role"] == "editor"
        if rival == "accept as another person":
            editors = editors or [namesake.user_id]
            (entry,) = list_entries(ada, organization, type="organization.invitation.accepted")
            assert entry["actor"]["id"] == editors[0]
        roles = {member["userId"]: member["role"] for member in list_items(ada, f"{path}/members")}
        assert roles == {ada.user_id: "owner", **dict.fromkeys(editors, "editor")}
        log = read_verified_log(ada, organization)
        events = [entry["type"].rpartition(".")[2] for entry in log if entry["target"]["id"] == invitation]
        assert events == ["created", *filter(None, ["accepted" if accepted.is_success else event_if_rejected])]
        assert rival != "inviter leaves" or log[-1]["type"] == "organization.member.removed"

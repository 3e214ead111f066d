"""Concurrent requests with an invitation's link, against the running service."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import httpx
import pytest

from tests.emulator.api_clients import ApiClient, outcome_code, run_concurrently
from tests.emulator.log_reader import list_entries, list_items, read_verified_log
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

MAX_PENDING: Final = 100
ATTEMPTS: Final = 5


@dataclass(frozen=True)
class SentInvitation:
    """An invitation to an organization, and the token of its link."""

    organization: str
    id: str
    token: str

    @property
    def path(self) -> str:
        """The path of the organization."""
        return f"/organizations/{self.organization}"

    def follow(self, person: ApiClient, decision: str = "accept") -> httpx.Response:
        """Open the link as a user."""
        return person.get(ACCEPTANCE_PATH, params={"token": self.token, "decision": decision})


def send_invitation(inviter: ApiClient, organization: str, invitee: ApiClient, role: str = "member") -> SentInvitation:
    body = {"email": f"{invitee.person.name}@example.com", "role": role}
    response = inviter.post(f"/organizations/{organization}/invite", json=body)
    assert response.status_code == 201, response.text
    return SentInvitation(organization, response.json()["id"], token_from_link(response.json()["acceptUrl"]))


def outcome_codes(responses: Sequence[httpx.Response]) -> list[str]:
    return [outcome_code(response) for response in responses]


def roles(ada: ApiClient, invitation: SentInvitation) -> dict[str, str]:
    return {member["userId"]: member["role"] for member in list_items(ada, f"{invitation.path}/members")}


def invitation_history(ada: ApiClient, invitation: SentInvitation) -> list[str]:
    """Return the events of an invitation from the verified log."""
    entries = read_verified_log(ada, invitation.organization)
    event_types = [entry["type"] for entry in entries if entry["target"]["id"] == invitation.id]
    return [event.removeprefix("organization.invitation.") for event in event_types]


def test_one_person_accepting_twice_at_once_creates_one_membership(create_client):
    ada, sophie = create_client("ada"), create_client("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.create_organization(), sophie, "editor")
        first, second = run_concurrently(*[partial(invitation.follow, sophie)] * 2)
        assert outcome_codes([first, second]) == ["200", "200"]
        assert first.content == second.content
        assert first.json()["membership"]["role"] == "editor"
        assert roles(ada, invitation) == {ada.user_id: "owner", sophie.user_id: "editor"}
        assert invitation_history(ada, invitation) == ["created", "accepted"]


def test_only_one_of_two_people_with_the_same_address_can_accept(create_client):
    ada, first_person, second_person = create_client("ada"), create_client("sophie"), create_client("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.create_organization(), first_person)
        responses = run_concurrently(*(partial(invitation.follow, person) for person in (first_person, second_person)))
        assert Counter(outcome_codes(responses)) == {"200": 1, "invitation_used": 1}
        (winner,) = (
            p for p, response in zip((first_person, second_person), responses, strict=True) if response.is_success
        )
        assert roles(ada, invitation) == {ada.user_id: "owner", winner.user_id: "member"}
        assert invitation_history(ada, invitation) == ["created", "accepted"]
        (accepted,) = list_entries(ada, invitation.organization, type="organization.invitation.accepted")
        assert accepted["actor"]["id"] == winner.user_id


def test_concurrent_acceptances_free_exactly_one_pending_invitation(create_client):
    ada, sophie, namesake = create_client("ada"), create_client("sophie"), create_client("sophie")
    invitation = send_invitation(ada, ada.create_organization(), sophie)
    run_concurrently(*[partial(invitation.follow, person) for person in (sophie, namesake)] * 4)
    invite = partial(ada.post, f"{invitation.path}/invite")
    bodies = [{"email": f"{n}@example.com"} for n in range(MAX_PENDING + 5)]
    responses = run_concurrently(*(partial(invite, json=body) for body in bodies))
    assert Counter(outcome_codes(responses)) == {"201": MAX_PENDING, "limit_exceeded": 5}


def test_concurrent_accept_and_decline_have_one_winner(create_client):
    ada, sophie = create_client("ada"), create_client("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.create_organization(), sophie)
        accepted, declined = run_concurrently(
            partial(invitation.follow, sophie), partial(invitation.follow, sophie, "decline")
        )
        assert sorted(outcome_codes([accepted, declined])) == ["200", "invitation_used"]
        assert (sophie.user_id in roles(ada, invitation)) == accepted.is_success
        assert invitation_history(ada, invitation) == ["created", "accepted" if accepted.is_success else "declined"]


def test_concurrent_accept_and_revoke_have_one_winner(create_client):
    ada, sophie = create_client("ada"), create_client("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.create_organization(), sophie)
        accepted, revoked = run_concurrently(
            partial(invitation.follow, sophie),
            partial(ada.delete, f"{invitation.path}/invitations/{invitation.id}"),
        )
        assert outcome_codes([accepted, revoked]) in (["200", "invalid_transition"], ["invitation_revoked", "204"])
        assert (sophie.user_id in roles(ada, invitation)) == accepted.is_success
        assert invitation_history(ada, invitation) == ["created", "accepted" if accepted.is_success else "revoked"]


def test_acceptance_succeeds_only_before_the_inviter_leaves(create_client, add_member):
    ada, grace, sophie = create_client("ada"), create_client("grace"), create_client("sophie")
    for _ in range(ATTEMPTS):
        organization = ada.create_organization()
        add_member(organization, grace, "admin")
        invitation = send_invitation(grace, organization, sophie)
        accepted, leaving = run_concurrently(
            partial(invitation.follow, sophie), partial(grace.post, f"{invitation.path}/leave")
        )
        assert leaving.status_code == 204
        assert outcome_codes([accepted]) in (["200"], ["invitation_revoked"])
        expected = {ada.user_id: "owner"} | ({sophie.user_id: "member"} if accepted.is_success else {})
        assert roles(ada, invitation) == expected
        types = [entry["type"] for entry in read_verified_log(ada, organization)]
        assert types.index("organization.member.removed") == len(types) - 1
        assert invitation_history(ada, invitation) == ["created", *(["accepted"] if accepted.is_success else [])]


def test_concurrent_invitations_of_one_address_create_one(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    invite = partial(ada.post, f"/organizations/{organization}/invite", json={"email": "sophie@example.com"})
    responses = run_concurrently(*[invite] * 10)
    assert Counter(outcome_codes(responses)) == {"201": 1, "already_exists": 9}
    assert len(list_entries(ada, organization, type="organization.invitation.created")) == 1

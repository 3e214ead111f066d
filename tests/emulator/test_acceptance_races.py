"""Concurrent requests with an invitation's link, against the running service."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import httpx
import pytest

from tests.emulator.conftest import Calling, Joining
from tests.emulator.outside import entries_of, items_of, whole_log
from tests.emulator.people import Caller, at_once
from tests.harness.invitations import ACCEPTANCE, token_of

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

    def follow(self, person: Caller, decision: str = "accept") -> httpx.Response:
        """Open the link as a user."""
        return person.get(ACCEPTANCE, params={"token": self.token, "decision": decision})


def send_invitation(inviter: Caller, organization: str, invitee: Caller, role: str = "member") -> SentInvitation:
    body = {"email": f"{invitee.person.name}@example.com", "role": role}
    response = inviter.post(f"/organizations/{organization}/invite", json=body)
    assert response.status_code == 201, response.text
    return SentInvitation(organization, response.json()["id"], token_of(response.json()["acceptUrl"]))


def outcome_codes(responses: Sequence[httpx.Response]) -> list[str]:
    return [str(response.status_code if response.is_success else response.json()["code"]) for response in responses]


def roles(ada: Caller, invitation: SentInvitation) -> dict[str, str]:
    return {member["userId"]: member["role"] for member in items_of(ada, f"{invitation.path}/members")}


def invitation_history(ada: Caller, invitation: SentInvitation) -> list[str]:
    """Return the events of an invitation from the verified log."""
    entries = whole_log(ada, invitation.organization)
    event_types = [entry["type"] for entry in entries if entry["target"]["id"] == invitation.id]
    return [event.removeprefix("organization.invitation.") for event in event_types]


def test_one_person_accepting_twice_at_once_creates_one_membership(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.makes_organization(), sophie, "editor")
        first, second = at_once(*[partial(invitation.follow, sophie)] * 2)
        assert outcome_codes([first, second]) == ["200", "200"]
        assert first.content == second.content
        assert first.json()["membership"]["role"] == "editor"
        assert roles(ada, invitation) == {ada.id: "owner", sophie.id: "editor"}
        assert invitation_history(ada, invitation) == ["created", "accepted"]


def test_only_one_of_two_people_with_the_same_address_can_accept(calling: Calling) -> None:
    ada, first_person, second_person = calling("ada"), calling("sophie"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.makes_organization(), first_person)
        responses = at_once(*(partial(invitation.follow, person) for person in (first_person, second_person)))
        assert Counter(outcome_codes(responses)) == {"200": 1, "invitation_used": 1}
        (winner,) = (
            p for p, response in zip((first_person, second_person), responses, strict=True) if response.is_success
        )
        assert roles(ada, invitation) == {ada.id: "owner", winner.id: "member"}
        assert invitation_history(ada, invitation) == ["created", "accepted"]
        (accepted,) = entries_of(ada, invitation.organization, type="organization.invitation.accepted")
        assert accepted["actor"]["id"] == winner.id


def test_concurrent_acceptances_free_exactly_one_pending_invitation(calling: Calling) -> None:
    ada, sophie, namesake = calling("ada"), calling("sophie"), calling("sophie")
    invitation = send_invitation(ada, ada.makes_organization(), sophie)
    at_once(*[partial(invitation.follow, person) for person in (sophie, namesake)] * 4)
    invite = partial(ada.post, f"{invitation.path}/invite")
    bodies = [{"email": f"{n}@example.com"} for n in range(MAX_PENDING + 5)]
    responses = at_once(*(partial(invite, json=body) for body in bodies))
    assert Counter(outcome_codes(responses)) == {"201": MAX_PENDING, "limit_exceeded": 5}


def test_concurrent_accept_and_decline_have_one_winner(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.makes_organization(), sophie)
        accepted, declined = at_once(partial(invitation.follow, sophie), partial(invitation.follow, sophie, "decline"))
        assert sorted(outcome_codes([accepted, declined])) == ["200", "invitation_used"]
        assert (sophie.id in roles(ada, invitation)) == accepted.is_success
        assert invitation_history(ada, invitation) == ["created", "accepted" if accepted.is_success else "declined"]


def test_concurrent_accept_and_revoke_have_one_winner(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = send_invitation(ada, ada.makes_organization(), sophie)
        accepted, revoked = at_once(
            partial(invitation.follow, sophie),
            partial(ada.delete, f"{invitation.path}/invitations/{invitation.id}"),
        )
        assert outcome_codes([accepted, revoked]) in (["200", "invalid_transition"], ["invitation_revoked", "204"])
        assert (sophie.id in roles(ada, invitation)) == accepted.is_success
        assert invitation_history(ada, invitation) == ["created", "accepted" if accepted.is_success else "revoked"]


def test_acceptance_succeeds_only_before_the_inviter_leaves(calling: Calling, joining: Joining) -> None:
    ada, grace, sophie = calling("ada"), calling("grace"), calling("sophie")
    for _ in range(ATTEMPTS):
        organization = ada.makes_organization()
        joining(organization, grace, "admin")
        invitation = send_invitation(grace, organization, sophie)
        accepted, leaving = at_once(partial(invitation.follow, sophie), partial(grace.post, f"{invitation.path}/leave"))
        assert leaving.status_code == 204
        assert outcome_codes([accepted]) in (["200"], ["invitation_revoked"])
        expected = {ada.id: "owner"} | ({sophie.id: "member"} if accepted.is_success else {})
        assert roles(ada, invitation) == expected
        types = [entry["type"] for entry in whole_log(ada, organization)]
        assert types.index("organization.member.removed") == len(types) - 1
        assert invitation_history(ada, invitation) == ["created", *(["accepted"] if accepted.is_success else [])]


def test_concurrent_invitations_of_one_address_create_one(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    invite = partial(ada.post, f"/organizations/{organization}/invite", json={"email": "sophie@example.com"})
    responses = at_once(*[invite] * 10)
    assert Counter(outcome_codes(responses)) == {"201": 1, "already_exists": 9}
    assert len(entries_of(ada, organization, type="organization.invitation.created")) == 1

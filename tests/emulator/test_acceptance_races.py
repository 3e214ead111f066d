"""An invitation's link, followed from several places at the same moment, through the running service."""

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

MOST_PENDING: Final = 100
ATTEMPTS: Final = 5


@dataclass(frozen=True)
class Sent:
    """An invitation to an organization of Ada's, and its link's token."""

    organization: str
    id: str
    token: str

    @property
    def path(self) -> str:
        """Where the organization is found."""
        return f"/organizations/{self.organization}"

    def follow(self, person: Caller, decision: str = "accept") -> httpx.Response:
        """Open the link as a person."""
        return person.get(ACCEPTANCE, params={"token": self.token, "decision": decision})


def sent(inviter: Caller, organization: str, whom: Caller, role: str = "member") -> Sent:
    body = {"email": f"{whom.person.name}@example.com", "role": role}
    answer = inviter.post(f"/organizations/{organization}/invite", json=body)
    assert answer.status_code == 201, answer.text
    return Sent(organization, answer.json()["id"], token_of(answer.json()["acceptUrl"]))


def codes(answers: Sequence[httpx.Response]) -> list[str]:
    return [str(answer.status_code if answer.is_success else answer.json()["code"]) for answer in answers]


def roles(ada: Caller, invitation: Sent) -> dict[str, str]:
    return {member["userId"]: member["role"] for member in items_of(ada, f"{invitation.path}/members")}


def history(ada: Caller, invitation: Sent) -> list[str]:
    """Return what happened to an invitation, as a log says that is proven whole."""
    entries = whole_log(ada, invitation.organization)
    told = [entry["type"] for entry in entries if entry["target"]["id"] == invitation.id]
    return [event.removeprefix("organization.invitation.") for event in told]


def test_two_browsers_of_one_person_make_one_member(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = sent(ada, ada.makes_organization(), sophie, "editor")
        first, second = at_once(*[partial(invitation.follow, sophie)] * 2)
        assert codes([first, second]) == ["200", "200"]
        assert first.content == second.content
        assert first.json()["membership"]["role"] == "editor"
        assert roles(ada, invitation) == {ada.id: "owner", sophie.id: "editor"}
        assert history(ada, invitation) == ["created", "accepted"]


def test_of_two_people_with_one_address_one_becomes_a_member(calling: Calling) -> None:
    ada, one, other = calling("ada"), calling("sophie"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = sent(ada, ada.makes_organization(), one)
        answers = at_once(*(partial(invitation.follow, person) for person in (one, other)))
        assert Counter(codes(answers)) == {"200": 1, "invitation_used": 1}
        (winner,) = (p for p, answer in zip((one, other), answers, strict=True) if answer.is_success)
        assert roles(ada, invitation) == {ada.id: "owner", winner.id: "member"}
        assert history(ada, invitation) == ["created", "accepted"]
        (accepted,) = entries_of(ada, invitation.organization, type="organization.invitation.accepted")
        assert accepted["actor"]["id"] == winner.id


def test_however_many_accept_at_once_one_more_may_be_invited_then(calling: Calling) -> None:
    ada, sophie, namesake = calling("ada"), calling("sophie"), calling("sophie")
    invitation = sent(ada, ada.makes_organization(), sophie)
    at_once(*[partial(invitation.follow, person) for person in (sophie, namesake)] * 4)
    invite = partial(ada.post, f"{invitation.path}/invite")
    bodies = [{"email": f"{n}@example.com"} for n in range(MOST_PENDING + 5)]
    answers = at_once(*(partial(invite, json=body) for body in bodies))
    assert Counter(codes(answers)) == {"201": MOST_PENDING, "limit_exceeded": 5}


def test_who_accepts_and_declines_at_once_has_done_one_of_them(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = sent(ada, ada.makes_organization(), sophie)
        accepted, declined = at_once(partial(invitation.follow, sophie), partial(invitation.follow, sophie, "decline"))
        assert sorted(codes([accepted, declined])) == ["200", "invitation_used"]
        assert (sophie.id in roles(ada, invitation)) == accepted.is_success
        assert history(ada, invitation) == ["created", "accepted" if accepted.is_success else "declined"]


def test_what_is_accepted_and_revoked_at_once_is_one_of_them(calling: Calling) -> None:
    ada, sophie = calling("ada"), calling("sophie")
    for _ in range(ATTEMPTS):
        invitation = sent(ada, ada.makes_organization(), sophie)
        accepted, revoked = at_once(
            partial(invitation.follow, sophie),
            partial(ada.delete, f"{invitation.path}/invitations/{invitation.id}"),
        )
        assert codes([accepted, revoked]) in (["200", "invalid_transition"], ["invitation_revoked", "204"])
        assert (sophie.id in roles(ada, invitation)) == accepted.is_success
        assert history(ada, invitation) == ["created", "accepted" if accepted.is_success else "revoked"]


def test_whose_inviter_leaves_meanwhile_has_come_before_or_not_at_all(calling: Calling, joining: Joining) -> None:
    ada, grace, sophie = calling("ada"), calling("grace"), calling("sophie")
    for _ in range(ATTEMPTS):
        organization = ada.makes_organization()
        joining(organization, grace, "admin")
        invitation = sent(grace, organization, sophie)
        accepted, left = at_once(partial(invitation.follow, sophie), partial(grace.post, f"{invitation.path}/leave"))
        assert left.status_code == 204
        assert codes([accepted]) in (["200"], ["invitation_revoked"])
        expected = {ada.id: "owner"} | ({sophie.id: "member"} if accepted.is_success else {})
        assert roles(ada, invitation) == expected
        types = [entry["type"] for entry in whole_log(ada, organization)]
        assert types.index("organization.member.removed") == len(types) - 1
        assert history(ada, invitation) == ["created", *(["accepted"] if accepted.is_success else [])]


def test_an_address_invited_by_many_at_once_is_invited_once(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    invite = partial(ada.post, f"/organizations/{organization}/invite", json={"email": "sophie@example.com"})
    answers = at_once(*[invite] * 10)
    assert Counter(codes(answers)) == {"201": 1, "already_exists": 9}
    assert len(entries_of(ada, organization, type="organization.invitation.created")) == 1

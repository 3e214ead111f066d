"""What a token leads to: the invitation, and those whom its answer depends on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from chalicelib.features.invitations.entities import Invitation
from chalicelib.features.invitations.models import AcceptanceOut, Decision, PlaceOffered
from chalicelib.features.invitations.rules import named, refuse_dead, refuse_other
from chalicelib.features.members.entities import Member
from chalicelib.features.members.models import MemberOut
from chalicelib.features.organizations.entities import Organization
from chalicelib.kernel import table
from chalicelib.kernel.entity import Item, Key
from chalicelib.kernel.problems import Problem, not_found
from chalicelib.kernel.request import Request
from chalicelib.kernel.tokens import User

_NOTHING: Final[Mapping[Key, Item]] = {}
OUTCOMES: Final[dict[Decision, Literal["accepted", "declined"]]] = {"accept": "accepted", "decline": "declined"}


@dataclass(frozen=True)
class Offer:
    """An invitation as whoever holds its token finds it. `member`: the asking user's membership, if they have one."""

    invitation: Invitation
    organization: Organization
    inviter: Member | None
    member: Member | None

    @property
    def inviter_name(self) -> str | None:
        """What people call the inviter, if a member with a name: a member's address is shown to admins only."""
        return (self.inviter.name or self.inviter.username) if self.inviter else None

    def described(self) -> AcceptanceOut:
        """Return what is shown of it, with the membership if it is the asking user's."""
        invitation, accepted = self.invitation, self.invitation.outcome == "accepted"
        return AcceptanceOut(
            organization=PlaceOffered.of(self.organization), platform=None, role=invitation.role,
            email=invitation.email, status=invitation.status, expires_at=invitation.expires_at,
            invited_by=invitation.invited_by, inviter_name=self.inviter_name,
            membership=MemberOut.of(self.member) if accepted and self.member else None,
        )  # fmt: skip

    def answered(self, user: User, decision: Decision) -> bool:
        """Return whether the user gave this answer before. Raises Problem if it is not theirs, or too late."""
        refuse_other(self.invitation, user)
        outcome, wanted = self.invitation.outcome, OUTCOMES[decision]
        if outcome is None:
            return False
        holds = outcome == "declined" or (self.member is not None and self.member.id == self.invitation.joined_as)
        theirs = holds and self.invitation.answered_by == user.id
        if theirs and outcome == wanted:
            return True
        if theirs and outcome == "accepted":
            leave = f"POST /organizations/{self.organization.id}/leave"
            raise Problem("invitation_used", f"You accepted it and are a member. To leave, send {leave}.")
        raise Problem("invitation_used", f"It was {outcome} before. Ask to be invited again.")


def named_in_body(request: Request) -> list[Key]:
    """Return where the invitation is stored that the token in a body names, if it names one."""
    token = request.said.get("token")
    key = named(token.strip()) if isinstance(token, str) else None
    return [key] if key else []


def find(token: str, user: User | None, read: Mapping[Key, Item] = _NOTHING) -> Offer:
    """Return what a token leads to, in two round trips, or one if the invitation is among what was `read` before.

    Raises Problem `not_found` for what the service did not make, or what is gone; 410 if it holds no longer.
    """
    key = named(token)
    item = (read.get(key) or table.get(key)) if key else None
    if item is None:
        raise not_found()
    invitation = Invitation.from_item(item)
    place = Organization.key_of(id=invitation.organization_id)
    inviter, own = (_member_key(invitation, it) for it in (invitation.invited_by, user.id if user else None))
    items = table.get_all(key for key in (place, inviter, own) if key)
    organization = Organization.from_item(items[place]) if place in items else None
    if organization is None or organization.closed:
        raise not_found()
    offer = Offer(invitation, organization, _member(items, inviter), _member(items, own))
    refuse_dead(invitation, token, offer.inviter)
    return offer


def _member_key(invitation: Invitation, user_id: str | None) -> Key | None:
    return Member.key_of(organization_id=invitation.organization_id, user_id=user_id) if user_id else None


def _member(items: Mapping[Key, Item], key: Key | None) -> Member | None:
    return Member.from_item(items[key]) if key and key in items else None

"""What a token, or an address, leads to: the invitation, and those whom its answer depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    named,
    path_of,
    refuse_dead,
    refuse_other,
    refuse_raise,
)
from chalicelib.features.tenancy.invitations.models import AcceptanceOut, Decision, Obstacle, PlaceOffered
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view, membership_view_keys
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import EVERYONE, Subject, log_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item

_NOTHING: Final[Mapping[ItemKey, Item]] = {}
OUTCOMES: Final[dict[Decision, Literal["accepted", "declined"]]] = {"accept": "accepted", "decline": "declined"}


@dataclass(frozen=True)
class Offer:
    """An invitation as whoever holds its token finds it: to a place, by its inviter.

    `organization`: the place or what it lies in. `own`: what the asking user is there; `member`: their membership of
    the place itself, if they have one. `read`: what was read with it. `chains`: some of the organization's log.
    """

    invitation: Invitation
    organization: Organization
    place: Container
    inviter: MembershipView
    own: MembershipView
    member: Joined | None
    read: Mapping[ItemKey, Item] = field(default_factory=dict)
    chains: Chains | None = None

    @property
    def decisive(self) -> dict[str, list[Entity]]:
        """The records by which it holds, by whose access epoch vouches for them: the place, and what the inviter is."""
        inviter = [record_from_item(item) for item in self.inviter.memberships.values()]
        return {EVERYONE: [self.place, *inviter], **({str(self.invitation.invited_by): inviter} if inviter else {})}

    @property
    def inviter_name(self) -> str | None:
        """What people call the inviter, if a member with a name: a member's address is shown to admins only."""
        nearest = next(reversed(self.inviter.memberships.values()), {})
        return nearest.get("name") or nearest.get("username")

    @property
    def place_name(self) -> str:
        """What people call the place."""
        return self.place.log_label

    def described(self, user: User | None) -> AcceptanceOut:
        """Return what is shown of it: to a user also whether they can accept it, and the membership it led to."""
        invitation, containers = self.invitation, dict.fromkeys(("organization", "platform"))
        obstacle = self._obstacle(user) if user else None
        return AcceptanceOut(
            **{**containers, self.place.kind: PlaceOffered.of(self.place)},
            role=invitation.role,
            email=invitation.email,
            status=invitation.status,
            expires_at=invitation.expires_at,
            invited_by=invitation.invited_by,
            inviter_name=self.inviter_name,
            can_accept=obstacle is None if user else None,
            reason=obstacle,
            membership=MemberOut.of(self.member) if user and self.member and self._joined_by(user) else None,
        )

    def _joined_by(self, user: User) -> bool:
        """Return whether the user accepted it, and is a member by that still."""
        invitation = self.invitation
        holds = self.member is not None and self.member.id == invitation.joined_as
        return holds and invitation.outcome == "accepted" and invitation.answered_by == user.id

    def _obstacle(self, user: User) -> Obstacle | None:
        """Return the code of the problem that accepting would be answered with, if any."""
        try:
            if not self.answered(user, "accept") and self.member:
                refuse_raise(self.invitation, self.member)
        except Problem as problem:
            return cast("Obstacle", problem.code)
        return None

    def answered(self, user: User, decision: Decision) -> bool:
        """Return whether the user gave this answer before. Raises Problem if it is not theirs, or too late."""
        refuse_other(self.invitation, user)
        outcome, wanted = self.invitation.outcome, OUTCOMES[decision]
        if outcome is None:
            return False
        theirs = self._joined_by(user) or (outcome == "declined" and self.invitation.answered_by == user.id)
        if theirs and outcome == wanted:
            return True
        if theirs and outcome == "accepted":
            leave = f"POST {path_of(self.invitation)}/leave"
            raise Problem("invitation_used", f"You accepted it and are a member. To leave, send {leave}.")
        raise Problem("invitation_used", f"It was {outcome} before. Ask to be invited again.")


def named_in_body(request: Request) -> list[ItemKey]:
    """Return where the invitation is stored that the token in a body names, if it names one."""
    token = request.unvalidated_body.get("token")
    key = named(token.strip()) if isinstance(token, str) else None
    return [key] if key else []


def find(token: str, user: User | None, read: Mapping[ItemKey, Item] = _NOTHING) -> Offer:
    """Return what a token leads to, in two round trips, or one if the invitation is among what was `read` before.

    Raises Problem `not_found` for what the service did not make, or what is gone; 410 if it holds no longer.
    """
    key = named(token)
    item = (read.get(key) or table.get(key)) if key else None
    if item is None:
        raise not_found()
    offer = _offer(Invitation.from_item(item), user.id if user else "")
    if offer is None:
        raise not_found()
    refuse_dead(offer.invitation, token, offer.inviter)
    return offer


def _offer(invitation: Invitation, user_id: str) -> Offer | None:
    """Return an invitation with all that its answer depends on; None if its place is gone, or what that lies in."""
    kinds = [invitation.container_type, *invitation.container_type.ancestor_types()]
    names = invitation.container_ids
    place, *above = (kind.make_item_key(id=names[kind.parameter]) for kind in kinds)
    people = {user for user in (invitation.invited_by, user_id) if user}
    subjects = (EVERYONE, str(invitation.invited_by))
    pk = log_partition(invitation.organization_id)
    epochs = [key for each in subjects for key in Subject(pk, each).keys]
    standing = [key for user in people for key in membership_view_keys(user, place, above)]
    chains, items = Chains.read_beside(invitation.organization_id, [place, *above, *standing, *epochs])
    found = [(kind, items.get(key)) for kind, key in zip(kinds, [place, *above], strict=True)]
    chain = [kind.from_item(item) for kind, item in reversed(found) if item]
    if len(chain) < len(kinds) or any(each.is_deleted for each in chain):
        return None
    inviter, own = (membership_view(each, chain, items) for each in (invitation.invited_by or "", user_id))
    held = own.memberships.get(invitation.container_type)
    organization = chain[0]
    assert isinstance(organization, Organization)  # noqa: S101 - for types: it is the outermost place
    return Offer(
        invitation,
        organization,
        chain[-1],
        inviter,
        own,
        invitation.membership_type.from_item(held) if held else None,
        items,
        chains,
    )

"""Resolution of an invitation, by its token or by the invited address, with the records on which a response depends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from chalicelib.features.tenancy.entities.memberships import ContainerMember
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation, address_partition
from chalicelib.features.tenancy.invitations.logic.invitation_rules import (
    container_url_path,
    invitation_key_from_token,
    reject_other_user,
    reject_replaced_token,
    reject_revoked_or_expired,
    reject_role_upgrade,
    require_verified_email,
)
from chalicelib.features.tenancy.invitations.models import AcceptanceOut, Decision, Obstacle, PlaceOffered
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view, membership_view_keys
from chalicelib.kernel.core.problems import Problem, invalid_token, not_found
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.permissions.access_epochs import EVERYONE, EpochSubject, organization_partition
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item

_INVALID_LINK_ADVICE: Final = "Copy the link from the mail completely, or ask to be invited again."
DECISION_OUTCOMES: Final[dict[Decision, Literal["accepted", "declined"]]] = {
    "accept": "accepted",
    "decline": "declined",
}


@dataclass(frozen=True)
class ResolvedInvitation:
    """An invitation with the records on which a response depends.

    `container` is the container to which it invites, and `organization` that container or its outermost ancestor.
    `user_memberships` are the calling user's, and `member` is their membership of the container, if any. `items` are
    all items that were read. `chains` are the MAC chains of the organization's log, if they were read.
    """

    invitation: Invitation
    organization: Organization
    container: Container
    inviter_memberships: MembershipView
    user_memberships: MembershipView
    member: ContainerMember | None
    items: Mapping[ItemKey, Item] = field(default_factory=dict)
    chains: Chains | None = None

    @property
    def deciding_records_by_epoch_subject(self) -> dict[str, list[Entity]]:
        """Return the records that decide whether the invitation is valid, by the subject of their access epoch."""
        inviter = [record_from_item(item) for item in self.inviter_memberships.memberships.values()]
        return {EVERYONE: [self.container, *inviter], **({str(self.invitation.invited_by): inviter} if inviter else {})}

    @property
    def inviter_name(self) -> str | None:
        """Return the inviter's name, if they are a member with one. Only admins see a member's e-mail address."""
        nearest = next(reversed(self.inviter_memberships.memberships.values()), {})
        return nearest.get("name") or nearest.get("username")

    @property
    def container_name(self) -> str:
        """Return the name of the container."""
        return self.container.audit_log_label

    def to_acceptance_output(self, user: User | None) -> AcceptanceOut:
        """Return the response. A user also sees whether they can accept, and the membership that accepting created."""
        invitation, empty = self.invitation, dict.fromkeys(("organization", "platform"))
        obstacle = self._find_obstacle_code(user) if user else None
        return AcceptanceOut(
            **{**empty, self.container.kind: PlaceOffered.of(self.container)},
            role=invitation.role,
            email=invitation.email,
            status=invitation.status,
            expires_at=invitation.expires_at,
            invited_by=invitation.invited_by,
            inviter_name=self.inviter_name,
            can_accept=obstacle is None if user else None,
            reason=obstacle,
            membership=MemberOut.of(self.member)
            if user and self.member and self._has_accepted_and_is_still_member(user)
            else None,
        )

    def _has_accepted_and_is_still_member(self, user: User) -> bool:
        """Return whether the user accepted the invitation and still has that membership."""
        invitation = self.invitation
        is_member = self.member is not None and self.member.id == invitation.accepted_membership_id
        return is_member and invitation.outcome == "accepted" and invitation.answered_by == user.id

    def _find_obstacle_code(self, user: User) -> Obstacle | None:
        """Return the code of the problem that accepting would cause, if any."""
        try:
            if not self.validate_response_and_detect_repeat(user, "accept") and self.member:
                reject_role_upgrade(self.invitation, self.member)
        except Problem as problem:
            if problem.code == "unavailable":
                raise
            return cast("Obstacle", problem.code)
        return None

    def validate_response_and_detect_repeat(self, user: User, decision: Decision) -> bool:
        """Return whether the user made this decision before. Raises Problem if they cannot respond."""
        reject_other_user(self.invitation, user)
        outcome, requested_outcome = self.invitation.outcome, DECISION_OUTCOMES[decision]
        if outcome is None:
            return False
        is_own_response = self._has_accepted_and_is_still_member(user) or (
            outcome == "declined" and self.invitation.answered_by == user.id
        )
        if is_own_response and outcome == requested_outcome:
            return True
        if is_own_response and outcome == "accepted":
            leave = f"POST {container_url_path(self.invitation)}/leave"
            raise Problem("invitation_used", f"You accepted it and are a member. To leave, send {leave}.")
        raise Problem("invitation_used", f"It was {outcome} before. Ask to be invited again.")


class InvitationOfToken(Prefetched):
    """The invitation whose token is in the body."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the item key of the invitation."""
        token = values.body_field_or_none("token")
        key = invitation_key_from_token(token) if token else None
        return [key] if key else []


class InvitationToCaller(Prefetched):
    """The item that finds the invitation in the path, if it is to the verified address of the calling user."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the item in the partition of the user's address."""
        email = values.user.verified_email_or_none if values.user else None
        return [(address_partition(email), values.parameters["invitation_id"])] if email else []

    def invitation_key_or_none(self, invitation_id: str) -> ItemKey | None:
        """Return the key of the invitation, or None if there is none to the address."""
        pointer = self.first_item_or_none
        if pointer is None:
            return None
        return Invitation.make_item_key(organization_id=pointer["organization_id"], id=invitation_id)


def resolve_invitation_to_caller(invitation_id: str, user: User, found: InvitationToCaller) -> ResolvedInvitation:
    """Return an invitation to the verified address of a user, in two round trips.

    Raises Problem `email_mismatch` if the user has no verified address, `not_found` if the invitation is to another
    address or is gone, and 410 if it is no longer valid.
    """
    email, key = require_verified_email(user), found.invitation_key_or_none(invitation_id)
    item = table.get(key) if key else None
    invitation = Invitation.from_item(item) if item else None
    if invitation is None or invitation.email != email:
        raise not_found()
    resolved = _resolve_invitation_or_none(invitation, user.id)
    if resolved is None:
        raise not_found()
    reject_revoked_or_expired(resolved.invitation, resolved.inviter_memberships)
    return resolved


def resolve_invitation_token(
    token: str, user: User | None, prefetched: InvitationOfToken | None = None
) -> ResolvedInvitation:
    """Return the invitation of a token, in two round trips, or in one if the invitation is `prefetched`.

    Raises Problem `not_found` if the service did not sign the token or the invitation is gone, and 410 if it is no
    longer valid.
    """
    key = invitation_key_from_token(token)
    item = (prefetched.first_item_or_none if prefetched else table.get(key)) if key else None
    if item is None:
        raise invalid_token(_INVALID_LINK_ADVICE)
    resolved = _resolve_invitation_or_none(Invitation.from_item(item), user.id if user else "")
    if resolved is None:
        raise invalid_token(_INVALID_LINK_ADVICE)
    reject_replaced_token(resolved.invitation, token)
    reject_revoked_or_expired(resolved.invitation, resolved.inviter_memberships)
    return resolved


def _resolve_invitation_or_none(invitation: Invitation, user_id: str) -> ResolvedInvitation | None:
    """Return an invitation with the records on which a response depends, or None if its container is gone."""
    subjects = (EVERYONE, str(invitation.invited_by))
    pk = organization_partition(invitation.organization_id)
    epochs = [key for each in subjects for key in EpochSubject(pk, each).random_shard_and_closing_mark_keys]
    chains, items = Chains.read_with(invitation.organization_id, [*deciding_item_keys(invitation, user_id), *epochs])
    return resolved_invitation_or_none(invitation, items, user_id, chains)


def deciding_item_keys(invitation: Invitation, user_id: str = "") -> list[ItemKey]:
    """Return the keys of the containers of an invitation, and of the memberships of its inviter and of a user."""
    container_key, *ancestor_keys = _container_keys_by_type(invitation).values()
    user_ids = {user for user in (invitation.invited_by, user_id) if user}
    membership_keys = [key for user in user_ids for key in membership_view_keys(user, container_key, ancestor_keys)]
    return [container_key, *ancestor_keys, *membership_keys]


def _container_keys_by_type(invitation: Invitation) -> dict[type[Container], ItemKey]:
    """Return the key of the invitation's container and of its ancestors, nearest first."""
    container_types = [invitation.container_type, *invitation.container_type.ancestor_types_nearest_first()]
    container_ids = invitation.container_ids_by_parameter
    return {kind: kind.make_item_key(id=container_ids[kind.parameter]) for kind in container_types}


def resolved_invitation_or_none(
    invitation: Invitation, items: Mapping[ItemKey, Item], user_id: str = "", chains: Chains | None = None
) -> ResolvedInvitation | None:
    """Return an invitation with the records in `items`, which were read at its `deciding_item_keys`.

    Return None if its container is gone.
    """
    keys_by_type = _container_keys_by_type(invitation)
    containers = [kind.from_item(items[key]) for kind, key in reversed(keys_by_type.items()) if key in items]
    if len(containers) < len(keys_by_type) or any(each.is_deleted for each in containers):
        return None
    inviter, user_memberships = (
        membership_view(each, containers, items) for each in (invitation.invited_by or "", user_id)
    )
    member_item = user_memberships.memberships.get(invitation.container_type)
    organization = containers[0]
    assert isinstance(organization, Organization)  # noqa: S101 - for type checkers: it is the outermost container
    return ResolvedInvitation(
        invitation,
        organization,
        containers[-1],
        inviter,
        user_memberships,
        invitation.membership_type.from_item(member_item) if member_item else None,
        items,
        chains,
    )

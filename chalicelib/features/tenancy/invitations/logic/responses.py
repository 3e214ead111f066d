"""Answering an invitation, by its token or by joining the place that it invites to."""

from dataclasses import replace

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.invitations.entities import ended
from chalicelib.features.tenancy.invitations.logic.invitation_rules import refuse_raise
from chalicelib.features.tenancy.invitations.logic.token_resolution import OUTCOMES, Offer
from chalicelib.features.tenancy.invitations.models import Decision
from chalicelib.features.tenancy.logic.joining import enter
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import log_partition


def answer(ctx: Context, offer: Offer, user: User, decision: Decision) -> Offer:
    """Let a user answer the invitation that waits for them, and return it as it is then."""
    outcome, invitation, member = OUTCOMES[decision], offer.invitation, offer.member
    ctx.changes.event = f"{invitation.kind}.{outcome}"
    ctx.changes.set_event_subject(invitation)
    # The inviter may be leaving, or be demoted, at this moment.
    ctx.fence(log_partition(invitation.organization_id), offer.read, offer.decisive)
    ctx.changes.chains = offer.chains or ctx.changes.chains
    if member:
        ctx.changes.require_unchanged(member)
    joined = None
    if outcome == "accepted":
        joined = _joined(ctx, offer, user, member)
        if not offer.organization.invitation_accepted_at:
            ctx.changes.update_untracked(offer.organization, invitation_accepted_at=ctx.now)
    changed = ended(outcome, answered_by=user.id, joined_as=joined.id if joined else None)
    return replace(offer, invitation=ctx.changes.update(invitation, **changed), member=joined)


def _joined(ctx: Context, offer: Offer, user: User, member: Joined | None) -> Joined:
    invitation = offer.invitation
    if member:
        refuse_raise(invitation, member)
        return member
    return enter(ctx, invitation.membership_type, user, invitation.role, offer.own, **invitation.container_ids)

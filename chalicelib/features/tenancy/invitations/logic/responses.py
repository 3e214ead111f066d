"""Accepting and declining invitations: by token, by id, or by joining the container."""

from dataclasses import replace
from typing import Final

from chalicelib.features.tenancy.entities.memberships import ContainerMember
from chalicelib.features.tenancy.invitations.entities import closing_fields
from chalicelib.features.tenancy.invitations.logic.invitation_resolution import DECISION_OUTCOMES, ResolvedInvitation
from chalicelib.features.tenancy.invitations.logic.invitation_rules import reject_role_upgrade
from chalicelib.features.tenancy.invitations.models import AcceptanceOut, Decision
from chalicelib.features.tenancy.logic.joining import create_membership
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.access_epochs import organization_partition

RESPONSE_EVENTS: Final = (
    "organization.invitation.accepted",
    "organization.invitation.declined",
    "platform.invitation.accepted",
    "platform.invitation.declined",
)
"""Events of operations with which the invited person responds."""


def record_decision_once(ctx: Context, resolved: ResolvedInvitation, user: User, decision: Decision) -> AcceptanceOut:
    """Record a user's decision, unless they made it before, and return the response.

    Raises Problem if they cannot respond.
    """
    is_repeated = resolved.validate_response_and_detect_repeat(user, decision)
    return (resolved if is_repeated else record_decision(ctx, resolved, user, decision)).to_acceptance_output(user)


def record_decision(ctx: Context, resolved: ResolvedInvitation, user: User, decision: Decision) -> ResolvedInvitation:
    """Record a user's decision about a pending invitation, and return the invitation with its new state."""
    outcome, invitation, member = DECISION_OUTCOMES[decision], resolved.invitation, resolved.member
    ctx.changes.event(invitation, f"{invitation.kind}.{outcome}")
    # A concurrent request may remove or demote the inviter.
    ctx.add_access_not_revoked_conditions(
        organization_partition(invitation.organization_id), resolved.items, resolved.deciding_records_by_epoch_subject
    )
    ctx.changes.chains = resolved.chains or ctx.changes.chains
    if member:
        ctx.changes.require_unchanged(member)
    joined = None
    if outcome == "accepted":
        joined = _keep_or_create_membership(ctx, resolved, user, member)
        if not resolved.organization.invitation_accepted_at:
            ctx.changes.update_untracked(resolved.organization, invitation_accepted_at=ctx.now)
    changed = closing_fields(outcome, answered_by=user.id, accepted_membership_id=joined.id if joined else None)
    return replace(resolved, invitation=ctx.changes.update(invitation, **changed), member=joined)


def _keep_or_create_membership(
    ctx: Context, resolved: ResolvedInvitation, user: User, member: ContainerMember | None
) -> ContainerMember:
    invitation = resolved.invitation
    if member:
        reject_role_upgrade(invitation, member)
        return member
    return create_membership(
        ctx,
        invitation.membership_type,
        user,
        invitation.role,
        resolved.user_memberships,
        **invitation.container_ids_by_parameter,
    )

"""Becoming a member of a place that lies in another, and getting another role there."""

from typing import TypeVar

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.logic.membership_rules import refuse_grant
from chalicelib.kernel.authorization.memberships import MembershipView
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.record_types import record_from_item

J = TypeVar("J", bound=Joined)


def enter(ctx: Context, kind: type[J], who: User | Joined, role: str, standing: MembershipView, **place: str) -> J:
    """Let somebody become a member of a place, and return the membership.

    `standing`: what they are at the places above it; each membership there notes that another one stands on it.
    """
    member = kind.made(ctx.new_record_fields(later_than=standing.left_at), who, role, **place)
    if ctx.attempt:  # A first one in vain may have found the username taken; else looking costs nobody a read.
        member = member.distinct()
    for item in standing.memberships.values():
        above = record_from_item(item)
        before = item.get("below_at")
        moment = max(member.created_at, after(before, seconds=0.001)) if before else member.created_at
        ctx.changes.update_untracked(above, below_at=moment)
    if standing.expired_membership:
        return ctx.changes.replace(kind.from_item(standing.expired_membership), member)
    return ctx.changes.create(member)


def give_role(ctx: Context, kind: type[J], member: J | None, role: Role, **place: str) -> J:
    """Give the user whom the path names a role at a place, as a member that they are, or thereby become."""
    if member and member.role == role:
        return member
    refuse_grant(role, ctx.max_grantable_role)
    if member:
        return ctx.changes.update(member, role=role.value)
    ctx.changes.event = f"{kind.kind}.added"
    nearest = [*ctx.access.subject_membership.memberships.values()][-1]
    return enter(ctx, kind, Joined.from_item(nearest), role.value, ctx.access.subject_membership, **place)

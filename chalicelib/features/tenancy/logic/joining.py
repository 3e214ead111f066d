"""Joining a container, and changing a member's role there."""

from typing import TypeVar

from chalicelib.features.tenancy.entities.memberships import ContainerMember
from chalicelib.features.tenancy.logic.membership_rules import reject_ungrantable_role
from chalicelib.kernel.authorization.memberships import MembershipView
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.record_types import record_from_item

MemberT = TypeVar("MemberT", bound=ContainerMember)


def create_membership(
    ctx: Context,
    membership_type: type[MemberT],
    user: User | ContainerMember,
    role: str,
    ancestor_memberships: MembershipView,
    **container_ids: str,
) -> MemberT:
    """Make a user a member of a container, and return the membership.

    `ancestor_memberships`: the user's memberships of the container's ancestors. Each of them records that a membership
    depends on it.
    """
    member = membership_type.create(
        ctx.new_id_and_time_fields(later_than=ancestor_memberships.left_at), user, role, **container_ids
    )
    # The first attempt may have failed because the username is taken. A check before it would cost a read.
    if ctx.attempt:
        member = member.with_available_username()
    for item in ancestor_memberships.memberships.values():
        ancestor_membership = record_from_item(item)
        previous = item.get("below_at")
        timestamp = max(member.created_at, after(previous, seconds=0.001)) if previous else member.created_at
        ctx.changes.update_untracked(ancestor_membership, descendant_joined_at=timestamp)
    expired_item = ancestor_memberships.expired_membership
    return ctx.changes.create(member, replaces=membership_type.from_item(expired_item) if expired_item else None)


def grant_role_to_path_user(
    ctx: Context, membership_type: type[MemberT], member: MemberT | None, role: Role, **container_ids: str
) -> MemberT:
    """Give the user named by the path a role in a container. A user without a membership there becomes a member."""
    if member:
        ctx.changes.event(member)
        if member.role == role:
            return member
    reject_ungrantable_role(role, ctx.max_grantable_role)
    if member:
        return ctx.changes.update(member, role=role.value)
    nearest = [*ctx.access.subject_membership.memberships.values()][-1]
    new_member = create_membership(
        ctx,
        membership_type,
        ContainerMember.from_item(nearest),
        role.value,
        ctx.access.subject_membership,
        **container_ids,
    )
    return ctx.changes.event(new_member, f"{membership_type.kind}.added")

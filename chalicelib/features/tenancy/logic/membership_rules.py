"""Rules about roles, and what callers see of members. No I/O."""

from collections.abc import Callable

from chalicelib.features.tenancy.entities.memberships import ContainerMember
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import Role


def reject_current_owner_role(role: str) -> None:
    """Raise Problem `owner_must_transfer` if the role is the owner's. An organization has exactly one owner."""
    if role == Role.OWNER:
        raise Problem("owner_must_transfer", "This is the owner. Transfer the ownership to another member first.")


def reject_ungrantable_role(role: Role, max_grantable_role: Role) -> None:
    """Raise Problem if a role is above the highest that the caller can grant, or is the owner's."""
    if not max_grantable_role.includes(role):
        raise Problem.create_with_field_error(
            "/role", "insufficient_role", f"You can grant roles up to {max_grantable_role.value!r}."
        )
    if role == Role.OWNER:
        raise Problem(
            "owner_must_transfer", "There is one owner. Use transfer-ownership to make another member the owner."
        )


def can_see_all_emails(ctx: Context) -> bool:
    """Return whether the caller sees the e-mail addresses of all members of the container: only admins do."""
    return ctx.role is not None and ctx.role.includes(Role.ADMIN)


def create_member_presenter(ctx: Context) -> Callable[[ContainerMember], MemberOut]:
    """Return the function that shows members to the caller. Only admins and the member see the e-mail address."""
    sees_all = can_see_all_emails(ctx)

    def member_to_output(member: ContainerMember) -> MemberOut:
        own = member.user_id == ctx.principal_or_anonymous.id
        return MemberOut.of(member) if sees_all or own else MemberOut.of(member, email=None)

    return member_to_output

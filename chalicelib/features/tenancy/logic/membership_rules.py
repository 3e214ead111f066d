"""Who may become what, and who sees what of whom: pure decisions."""

from collections.abc import Callable

from chalicelib.features.tenancy.entities.memberships import Joined
from chalicelib.features.tenancy.models.memberships import MemberOut
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.permissions.roles import Role


def refuse_owner(role: str) -> None:
    """Raise Problem `owner_must_transfer` if it is the owner's: an organization has exactly one, always."""
    if role == Role.OWNER:
        raise Problem("owner_must_transfer", "This is the owner. Transfer the ownership to another member first.")


def refuse_grant(granted: Role, grantable: Role) -> None:
    """Raise Problem if a role is above the highest that the caller may give, or that of the owner."""
    if not grantable.includes(granted):
        raise Problem.for_field("/role", "insufficient_role", f"You can grant roles up to {grantable.value!r}.")
    if granted == Role.OWNER:
        raise Problem(
            "owner_must_transfer", "There is one owner. Use transfer-ownership to make another member the owner."
        )


def shown_to(ctx: Context) -> Callable[[Joined], MemberOut]:
    """Return what the caller sees of members: e-mail addresses only as an admin, or their own."""
    sees_all = ctx.role is not None and ctx.role.includes(Role.ADMIN)

    def show(member: Joined) -> MemberOut:
        own = member.user_id == ctx.principal.id
        return MemberOut.of(member) if sees_all or own else MemberOut.of(member, email=None)

    return show

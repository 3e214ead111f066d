"""The members of an organization: list, change, remove, leave, and who owns it."""

from chalicelib.features.members.entities import Departure, Member
from chalicelib.features.members.leaving import depart
from chalicelib.features.members.models import MemberOut, MemberPatch, OwnershipTransfer
from chalicelib.features.members.rules import refuse_grant, refuse_owner, shown_to
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.features.organizations.models import OrganizationOut
from chalicelib.kernel.context import Context
from chalicelib.kernel.models import ListQuery
from chalicelib.kernel.operation import Page, RouteGroup
from chalicelib.kernel.problems import FieldError, Invalid
from chalicelib.kernel.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/members",
    needs=at_organization(Role.MEMBER), scope="members:read", emits=None,
)  # fmt: skip
def list_organization_members(ctx: Context, organization: Organization, query: ListQuery) -> Page[MemberOut]:
    """List the members of an organization, in the order they joined."""
    return ctx.list(Member, Member.in_organization, query, shown_to(ctx), organization_id=organization.id)


@routes.get(
    "/organizations/{organization_id}/members/{user_id}",
    needs=at_organization(Role.MEMBER), scope="members:read", emits=None,
)  # fmt: skip
def get_organization_member(ctx: Context, member: Member) -> MemberOut:
    """Get a member of an organization."""
    return shown_to(ctx)(member)


@routes.patch(
    "/organizations/{organization_id}/members/{user_id}",
    needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.member.updated",
)  # fmt: skip
def update_organization_member(ctx: Context, member: Member, body: MemberPatch) -> MemberOut:
    """Change a member's role."""
    if body.role != member.role:
        refuse_owner(member.role)
        refuse_grant(body.role, ctx.grantable)
        ctx.require_membership()
    return shown_to(ctx)(ctx.changes.update(member, role=body.role.value))


@routes.delete(
    "/organizations/{organization_id}/members/{user_id}",
    needs=at_organization(Role.ADMIN), scope="members:write", emits="organization.member.removed",
)  # fmt: skip
def remove_organization_member(ctx: Context, organization: Organization, member: Member) -> None:
    """Remove a member from an organization, and thereby from all its platforms and spaces.

    What they had invited is revoked with it. The entry of the removal stands for the end of it all.
    """
    refuse_owner(member.role)
    depart(ctx, member, Departure, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/leave",
    success=204, needs=at_organization(Role.MEMBER), scope=None, emits="organization.member.removed",
)  # fmt: skip
def leave_organization(ctx: Context, organization: Organization) -> None:
    """Leave an organization, and thereby all its platforms and spaces; what the member had invited is revoked.

    The entry of the removal stands for the end of it all.
    """
    refuse_owner(ctx.role or Role.MEMBER)
    member = Member.from_item(ctx.access.membership or {})
    depart(ctx, member, Departure, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/transfer-ownership",
    success=200, needs=at_organization(Role.OWNER), scope=None, emits="organization.ownership_transferred",
)  # fmt: skip
def transfer_ownership(ctx: Context, organization: Organization, body: OwnershipTransfer) -> OrganizationOut:
    """Make another member the owner; the former owner becomes an admin."""
    if body.new_owner_id == organization.owner_id:
        return OrganizationOut.of(organization)
    owner = Member.from_item(ctx.access.membership or {})
    successor = ctx.find(Member, user_id=body.new_owner_id)
    if successor is None:
        raise Invalid([FieldError("/newOwnerId", "not_a_member", "This user is not a member of the organization.")])
    transferred = ctx.changes.update(organization, owner_id=successor.user_id)
    ctx.changes.update(owner, role=Role.ADMIN.value)
    ctx.changes.update(successor, role=Role.OWNER.value)
    return OrganizationOut.of(transferred)

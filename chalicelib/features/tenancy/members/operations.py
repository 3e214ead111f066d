"""The members of an organization: list, change, remove, leave, and who owns it."""

from chalicelib.features.tenancy.entities.memberships import Departure, Member
from chalicelib.features.tenancy.entities.organizations import Organization, at_organization
from chalicelib.features.tenancy.logic.member_lists import list_joined
from chalicelib.features.tenancy.logic.membership_rules import refuse_grant, refuse_owner, shown_to
from chalicelib.features.tenancy.members.logic.dependent_api_keys import keys_ending
from chalicelib.features.tenancy.members.logic.leaving import depart
from chalicelib.features.tenancy.models.memberships import KeysQuery, MemberOut, MemberPatch, OwnershipTransfer
from chalicelib.features.tenancy.models.organizations import OrganizationOut
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("members"),))


@routes.get(
    "/organizations/{organization_id}/members",
    access=at_organization(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def list_organization_members(ctx: Context, query: ListQuery) -> ListPage[MemberOut]:
    """List the members of an organization, in the order they joined."""
    return list_joined(ctx, Member, Member.in_organization, query)


@routes.get(
    "/organizations/{organization_id}/members/{user_id}",
    access=at_organization(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_organization_member(ctx: Context, member: Member) -> MemberOut:
    """Get a member of an organization."""
    return shown_to(ctx)(member)


@routes.patch(
    "/organizations/{organization_id}/members/{user_id}",
    access=at_organization(Role.ADMIN),
    scope="members:write",
    emits="organization.member.updated",
    grants_access=True,
)
def update_organization_member(ctx: Context, member: Member, query: KeysQuery, body: MemberPatch) -> MemberOut:
    """Change a member's role.

    With a lower one, the API keys that they made or rotated and could not give now are revoked, and what those made;
    `revokedKeys` names them. With `keys=keep` another admin answers for those keys from then on.
    """
    if body.role == member.role:
        return shown_to(ctx)(member)
    refuse_owner(member.role)
    refuse_grant(body.role, ctx.max_grantable_role)
    ending = keys_ending(ctx, member, query, "member_demoted", body.role)
    updated = ctx.changes.update(member.replace(revoked_keys=ending.named), role=body.role.value)
    ending.revoke(ctx.changes)
    return shown_to(ctx)(updated)


@routes.delete(
    "/organizations/{organization_id}/members/{user_id}",
    access=at_organization(Role.ADMIN),
    scope="members:write",
    emits="organization.member.removed",
    grants_access=True,
)
def remove_organization_member(ctx: Context, organization: Organization, member: Member, query: KeysQuery) -> None:
    """Remove a member from an organization, and thereby from all its platforms and spaces.

    What they had invited is revoked with it, and the API keys that they made or rotated. With `keys=keep` another admin
    answers for those keys from then on. The entry of the removal stands for the end of it all, and names the keys.
    """
    refuse_owner(member.role)
    ending = keys_ending(ctx, member, query, "member_removed", None)
    gone = member.replace(revoked_keys=ending.named)
    depart(ctx, gone, Departure, ending=ending, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/leave",
    success=204,
    access=at_organization(Role.MEMBER),
    scope=None,
    emits="organization.member.removed",
    grants_access=True,
)
def leave_organization(ctx: Context, organization: Organization) -> None:
    """Leave an organization, and thereby all its platforms and spaces; what the member had invited is revoked.

    So are the API keys that they made or rotated. The entry of the removal stands for the end of it all.
    """
    refuse_owner(ctx.role or Role.MEMBER)
    member = Member.from_item(ctx.access.membership or {})
    ending = keys_ending(ctx, member, KeysQuery(), "member_left", None)
    gone = member.replace(revoked_keys=ending.named)
    depart(ctx, gone, Departure, ending=ending, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/transfer-ownership",
    success=200,
    access=at_organization(Role.OWNER),
    scope=None,
    emits="organization.ownership_transferred",
    grants_access=True,
)
def transfer_ownership(ctx: Context, organization: Organization, body: OwnershipTransfer) -> OrganizationOut:
    """Make another member the owner; the former owner becomes an admin."""
    if body.new_owner_id == organization.owner_id:
        return OrganizationOut.of(organization)
    owner = Member.from_item(ctx.access.membership or {})
    successor = ctx.find(Member, user_id=body.new_owner_id)
    if successor is None:
        raise ValidationProblem(
            [FieldError("/newOwnerId", "not_a_member", "This user is not a member of the organization.")]
        )
    transferred = ctx.changes.update(organization, owner_id=successor.user_id, counted=True)
    ctx.changes.update(owner, role=Role.ADMIN.value)
    ctx.changes.update(successor, role=Role.OWNER.value)
    return OrganizationOut.of(transferred)

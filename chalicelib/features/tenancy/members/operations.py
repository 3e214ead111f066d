"""Members of an organization: list, change, remove, leave and transfer the ownership."""

from chalicelib.features.tenancy.entities.memberships import Member, RevocationMarker
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.logic.member_lists import list_members, list_members_by_name
from chalicelib.features.tenancy.logic.membership_rules import (
    create_member_presenter,
    reject_current_owner_role,
    reject_ungrantable_role,
)
from chalicelib.features.tenancy.members.logic.dependent_api_keys import transfer_retained_keys_or_plan_revocation
from chalicelib.features.tenancy.members.logic.leaving import delete_member_and_dependents
from chalicelib.features.tenancy.members.logic.notices import notify_member
from chalicelib.features.tenancy.models.memberships import KeysQuery, MemberOut, MemberPatch, OwnershipTransfer
from chalicelib.features.tenancy.models.organizations import OrganizationOut
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import NamedListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("members"),))


@routes.get(
    "/organizations/{organization_id}/members",
    access=require_organization_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def list_organization_members(ctx: Context, query: NamedListQuery) -> ListPage[MemberOut]:
    """List the members of an organization, in the order in which they joined.

    With `sort=-createdAt` those who joined last come first. Use it to show who belongs to the organization and with
    which role. Admins see the e-mail addresses of all members, the others only their own.

    `q` searches names and usernames and, for admins, e-mail addresses. With `sort=name` a member without a name is
    listed by the username or, for admins, by the e-mail address; others are at the end. With either, a page may be
    short; the list ends when `nextCursor` is null.
    """
    if query.is_by_name:
        return list_members_by_name(ctx, query)
    return list_members(ctx, Member, Member.in_organization, query)


@routes.get(
    "/organizations/{organization_id}/members/{user_id}",
    access=require_organization_role(Role.MEMBER),
    scope="members:read",
    emits=None,
)
def get_organization_member(ctx: Context, member: Member) -> MemberOut:
    """Get a member of an organization.

    It has the person's role, their names and the time at which they joined. Only admins and the member themselves see
    the e-mail address.
    """
    return create_member_presenter(ctx)(member)


@routes.patch(
    "/organizations/{organization_id}/members/{user_id}",
    access=require_organization_role(Role.ADMIN),
    scope="members:write",
    emits="organization.member.updated",
    grants_access=True,
)
def update_organization_member(
    ctx: Context, organization: Organization, member: Member, query: KeysQuery, body: MemberPatch
) -> MemberOut:
    """Change a member's role, and tell them by mail unless the organization's `notifications` is false.

    A lower role revokes the API keys that the member created or rotated and could not grant any more, and the keys
    created with those. `revokedKeys` lists them. With `keys=keep` another admin takes responsibility for those keys
    instead.
    """
    if body.role == member.role:
        return create_member_presenter(ctx)(member)
    reject_current_owner_role(member.role)
    reject_ungrantable_role(body.role, ctx.max_grantable_role)
    plan = transfer_retained_keys_or_plan_revocation(ctx, member, query, "member_demoted", body.role)
    updated = ctx.changes.update(member.replace(revoked_keys=plan.revoked_key_summaries), role=body.role.value)
    ctx.changes.event(updated)
    plan.add_revocations_and_return_count(ctx.changes)
    notify_member(ctx, organization, member, "role_changed", body.role.value)
    return create_member_presenter(ctx)(updated)


@routes.delete(
    "/organizations/{organization_id}/members/{user_id}",
    access=require_organization_role(Role.ADMIN),
    scope="members:write",
    emits="organization.member.removed",
    grants_access=True,
)
def remove_organization_member(ctx: Context, organization: Organization, member: Member, query: KeysQuery) -> None:
    """Remove a member from an organization and from all its platforms and spaces.

    They are told by mail unless the organization's `notifications` is false. The member's pending invitations, and the
    API keys that they created or rotated, are revoked. With `keys=keep` another admin takes responsibility for those
    keys instead. One log entry records the removal with all its consequences, and lists the revoked keys.
    """
    reject_current_owner_role(member.role)
    plan = transfer_retained_keys_or_plan_revocation(ctx, member, query, "member_removed", None)
    removed = member.replace(revoked_keys=plan.revoked_key_summaries)
    delete_member_and_dependents(ctx, removed, RevocationMarker, key_revocation=plan, organization_id=organization.id)
    notify_member(ctx, organization, member, "removed")


@routes.post(
    "/organizations/{organization_id}/leave",
    success=204,
    access=require_organization_role(Role.MEMBER),
    scope=None,
    emits="organization.member.removed",
    grants_access=True,
)
def leave_organization(ctx: Context, organization: Organization) -> None:
    """Leave an organization and all its platforms and spaces. The member's pending invitations are revoked.

    The API keys that they created or rotated are revoked, too. One log entry records the removal with all its
    consequences. The owner cannot leave: transfer the ownership first.
    """
    reject_current_owner_role(ctx.role or Role.MEMBER)
    member = Member.from_item(ctx.access.own_membership_item or {})
    plan = transfer_retained_keys_or_plan_revocation(ctx, member, KeysQuery(), "member_left", None)
    removed = member.replace(revoked_keys=plan.revoked_key_summaries)
    delete_member_and_dependents(ctx, removed, RevocationMarker, key_revocation=plan, organization_id=organization.id)


@routes.post(
    "/organizations/{organization_id}/transfer-ownership",
    success=200,
    access=require_organization_role(Role.OWNER),
    scope=None,
    emits="organization.ownership_transferred",
    grants_access=True,
)
def transfer_ownership(ctx: Context, organization: Organization, body: OwnershipTransfer) -> OrganizationOut:
    """Make another member the owner. The former owner becomes an admin.

    The new owner is told by mail unless the organization's `notifications` is false. An organization always has exactly
    one owner, so both roles change in one transaction. The new owner has to be a member already. Only the owner can
    transfer the ownership, with a user's token.
    """
    if body.new_owner_id == organization.owner_id:
        return OrganizationOut.of(organization)
    owner = Member.from_item(ctx.access.own_membership_item or {})
    successor = ctx.find_in_container(Member, user_id=body.new_owner_id)
    if successor is None:
        raise ValidationProblem(
            [FieldError("/newOwnerId", "not_a_member", "This user is not a member of the organization.")]
        )
    ctx.changes.event(organization)
    transferred = ctx.changes.update(organization, owner_id=successor.user_id, counts_toward_quota=True)
    ctx.changes.update(owner, role=Role.ADMIN.value)
    ctx.changes.update(successor, role=Role.OWNER.value)
    notify_member(ctx, organization, successor, "ownership_received", Role.OWNER.value)
    return OrganizationOut.of(transferred)

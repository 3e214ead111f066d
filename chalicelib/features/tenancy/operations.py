"""Organizations: create, list, get, update, delete and restore."""

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization, require_organization_role
from chalicelib.features.tenancy.logic.organization_lists import list_organizations_of_caller
from chalicelib.features.tenancy.models.organizations import (
    OrganizationCreate,
    OrganizationListItem,
    OrganizationOut,
    OrganizationPatch,
    OrganizationsQuery,
)
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import FieldError, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller, ContainerReference, OwnerRestores
from chalicelib.kernel.operations.results import ListPage, Redirect
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("organizations", scope_areas=(ScopeArea("organizations", members_read_all=True),))


@routes.get("/organizations", access=Caller.PRINCIPAL, scope="organizations:read", emits=None)
def list_organizations(ctx: Context, query: OrganizationsQuery) -> ListPage[OrganizationListItem]:
    """List the caller's organizations, with their role in each. An API key sees its own organization.

    Use it after sign-in to let a person choose an organization. With `status` = `pending_deletion`, owners see the
    organizations that they can still restore.
    """
    return list_organizations_of_caller(ctx, query)


@routes.post("/organizations", access=Caller.USER, scope=None, emits="organization.created")
def create_organization(ctx: Context, body: OrganizationCreate) -> OrganizationOut:
    """Create an organization. The caller becomes its owner.

    An organization is the tenant: members, API keys, webhooks, platforms, sites and the audit log belong to it, and
    nobody outside of it can see them. If you omit the slug, it is derived from the name.
    """
    fields = body.to_stored_fields_with_defaults() | {"slug": ctx.given_or_derived_slug(body.slug, body.name)}
    organization = ctx.changes.create(
        Organization(**ctx.new_id_and_time_fields(), **fields, owner_id=ctx.user.id, counts_toward_quota=True)
    )
    ctx.changes.create(
        Member.create_for_organization(ctx.new_id_and_time_fields(), organization.id, ctx.user, Role.OWNER)
    )
    return OrganizationOut.of(ctx.changes.event(organization))


@routes.get(
    "/organizations/by-slug/{slug}",
    access=require_organization_role(Role.MEMBER, location=ContainerReference.PATH_SLUG),
    scope="organizations:read",
    emits=None,
)
def get_organization_by_slug(_ctx: Context, organization: Organization, slug: str) -> OrganizationOut | Redirect:
    """Get an organization by its slug. A former slug redirects to the current one for 90 days.

    Use it for addresses that people can read, such as `/o/analytical-engines`. Store ids, not slugs, because a slug can
    change.
    """
    if organization.slug != slug:
        return Redirect(f"/organizations/by-slug/{organization.slug}")
    return OrganizationOut.of(organization)


@routes.get(
    "/organizations/{organization_id}",
    access=require_organization_role(Role.MEMBER),
    scope="organizations:read",
    emits=None,
)
def get_organization(_ctx: Context, organization: Organization) -> OrganizationOut:
    """Get an organization.

    The response has the data of the company, the slug, the status and the owner's user id. An organization without you
    as a member is not found.
    """
    return OrganizationOut.of(organization)


@routes.patch(
    "/organizations/{organization_id}",
    access=require_organization_role(Role.ADMIN, policy=OwnerRestores({"status": "active"})),
    scope="organizations:write",
    emits=("organization.updated", "organization.restored"),
)
def update_organization(ctx: Context, organization: Organization, body: OrganizationPatch) -> OrganizationOut:
    """Update an organization. `{"status": "active"}` restores a deleted one until it is purged.

    Use it for the name, the slug, the data of the company and the contact addresses. A former slug leads to the
    organization for 90 days. Only the owner can restore an organization.
    """
    fields = body.to_stored_fields_with_defaults()
    event = None
    if organization.is_deleted:
        _reject_if_purge_is_due(ctx, organization)
        event = "organization.restored"
        fields |= {"deletion_due_at": None, "counts_toward_quota": True}
        _move_owner_membership_to_list(ctx, "active")
    elif body.status != "active":
        raise ValidationProblem([FieldError("/status", "read_only", "DELETE the organization instead.")])
    return OrganizationOut.of(ctx.changes.event(ctx.changes.update(organization, **fields), event))


@routes.delete(
    "/organizations/{organization_id}",
    access=require_organization_role(Role.OWNER),
    scope=None,
    emits="organization.deleted",
)
def delete_organization(ctx: Context, organization: Organization) -> None:
    """Delete an organization. Its owner can restore it for 30 days; then it is purged.

    The organization disappears for everyone at once. The purge removes all its records and files. Its audit log is kept
    as evidence, but no operation can read, export, verify or erase from it any more. Export the log, and erase the
    people you have to erase, before you delete the organization.
    """
    ctx.changes.event(organization)
    ctx.changes.update(organization, status="pending_deletion", deletion_due_at=after(ctx.now, days=RESTORABLE_DAYS))
    _move_owner_membership_to_list(ctx, "pending_deletion")


def _reject_if_purge_is_due(ctx: Context, organization: Organization) -> None:
    """Raise *not found* once the purge is due, because it may have started."""
    if (organization.deletion_due_at or "") <= ctx.now:
        raise not_found()


def _move_owner_membership_to_list(ctx: Context, list_name: str) -> None:
    ctx.changes.update_untracked(Member.from_item(ctx.access.own_membership_item or {}), list_name=list_name)

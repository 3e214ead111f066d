"""The operation that summarizes an organization."""

from chalicelib.features.audit.log.logic.log_head import LogHead
from chalicelib.features.overviews.organization_summaries.logic import InvitationCounter, load_summary
from chalicelib.features.overviews.organization_summaries.models import OrganizationSummary
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/summary",
    access=require_organization_role(Role.MEMBER),
    scope="organizations:read",
    emits=None,
)
def get_organization_summary(
    ctx: Context, organization: Organization, counter: InvitationCounter, head: LogHead
) -> OrganizationSummary:
    """Get the numbers on the start page of an organization: members, invitations, webhooks, domains and the log.

    What the caller may not list is null: members who are not admins see only members and domains, and an API key needs
    the scope of each part. The request costs the same however large the organization is, so numbers above 1,000 are
    lower bounds.
    """
    return load_summary(ctx.access, organization, counter, head)

"""The domains of an organization's platforms: the inventory."""

from chalicelib.features.domains.entities import PlatformDomain
from chalicelib.features.domains.models import DomainInventoryQuery, PlatformDomainOut
from chalicelib.features.organizations.entities import Organization, at_organization
from chalicelib.kernel.context import Context
from chalicelib.kernel.operation import Page, RouteGroup
from chalicelib.kernel.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/domains/inventory",
    needs=at_organization(Role.MEMBER), scope="domains:read", emits=None,
)  # fmt: skip
def list_domain_inventory(
    ctx: Context, organization: Organization, query: DomainInventoryQuery
) -> Page[PlatformDomainOut]:
    """List an organization's platforms with their domains, in the order the platforms were created."""
    status = query.verification_status
    listed = PlatformDomain.by_status if status else PlatformDomain.in_organization
    return ctx.list(
        PlatformDomain, listed, query, PlatformDomainOut.of,
        organization_id=organization.id, verification_status=status,
    )  # fmt: skip

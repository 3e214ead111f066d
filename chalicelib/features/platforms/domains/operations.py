"""HTTP operations on the custom domain of a platform, and the domain inventory of an organization."""

from chalicelib.features.platforms.domains.entities import CustomDomain, PlatformDomain
from chalicelib.features.platforms.domains.logic.dns_check import query_dns_for_verification_changes
from chalicelib.features.platforms.domains.logic.links import CUSTOM_DOMAIN_LINK
from chalicelib.features.platforms.domains.logic.verification import (
    UNCLAIMED_FIELDS,
    claim_fields,
    with_ended_verification_restarted,
)
from chalicelib.features.platforms.domains.models import (
    CustomDomainIn,
    CustomDomainOut,
    DomainInventoryQuery,
    PlatformDomainOut,
)
from chalicelib.features.platforms.entities import require_platform_role
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.logic.signed_links import LINK_LOCATION, LINK_RATE_LIMITS, create_signed_link
from chalicelib.features.tenancy.models.signed_links import NewSignedLink
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("platforms", scope_areas=(ScopeArea("domains", members_read_all=True),))
organization_routes = RouteGroup("organizations", routes.operations)


@organization_routes.get(
    "/organizations/{organization_id}/domains/inventory",
    access=require_organization_role(Role.MEMBER),
    scope="domains:read",
    emits=None,
)
def list_domain_inventory(
    ctx: Context, organization: Organization, query: DomainInventoryQuery
) -> ListPage[PlatformDomainOut]:
    """List the platforms of an organization with their domains, in the order the platforms were created.

    Use it to see in one list which hosts serve the organization's platforms, and which domains are not verified yet or
    have lapsed.
    """
    status = query.verification_status
    collection = PlatformDomain.by_status if status else PlatformDomain.in_organization
    return ctx.list_records(
        PlatformDomain,
        collection,
        query,
        PlatformDomainOut.of,
        organization_id=organization.id,
        verification_status=status,
    )


@routes.get(
    "/platforms/{platform_id}/custom-domain",
    access=require_platform_role(Role.MEMBER),
    scope="domains:read",
    emits=None,
    link_types=(CUSTOM_DOMAIN_LINK,),
)
def get_custom_domain(_ctx: Context, custom_domain: CustomDomain) -> CustomDomainOut:
    """Get the custom domain of a platform and its required DNS records. Without a domain its status is `none`.

    Use it to show the DNS records that the owner of the domain has to create, and what the last check found instead of
    them. `lastError` has the reason of a failed check.
    """
    return CustomDomainOut.of(custom_domain)


@routes.post(
    "/platforms/{platform_id}/custom-domain",
    access=require_platform_role(Role.ADMIN),
    scope="domains:write",
    emits="platform.custom_domain.added",
    existing_status=200,
    grants_access=True,
)
def set_custom_domain(ctx: Context, custom_domain: CustomDomain, body: CustomDomainIn) -> CustomDomainOut:
    """Claim a domain for a platform, replacing one that is not verified. `records` lists the required DNS records.

    The service checks the DNS regularly, and immediately on `verify`. Several platforms may claim the same domain. The
    first one to verify it gets it. Repeating a claim changes nothing (200).
    """
    if body.domain == custom_domain.domain and custom_domain.status in ("pending", "verified"):
        ctx.already_existed = True
        return CustomDomainOut.of(custom_domain)
    if custom_domain.status == "verified":
        detail = f"{custom_domain.domain} is verified. Remove it first to replace it by {body.domain}."
        raise Problem.create_with_field_error("/domain", "already_exists", detail)
    ctx.changes.event(custom_domain)
    return CustomDomainOut.of(ctx.changes.update(custom_domain, **claim_fields(custom_domain.id, body.domain, ctx.now)))


@routes.delete(
    "/platforms/{platform_id}/custom-domain",
    access=require_platform_role(Role.ADMIN),
    scope="domains:write",
    emits="platform.custom_domain.removed",
    grants_access=True,
)
def remove_custom_domain(ctx: Context, custom_domain: CustomDomain) -> None:
    """Remove the custom domain of a platform, so that other platforms can verify it. Does nothing if there is none.

    The platform and its site are then found only below the service's own domain. To use the domain again, claim and
    verify it again.
    """
    ctx.changes.event(ctx.changes.update(custom_domain, **UNCLAIMED_FIELDS))


@routes.post(
    "/platforms/{platform_id}/custom-domain/verify",
    success=200,
    access=require_platform_role(Role.ADMIN),
    scope="domains:write",
    emits=("platform.custom_domain.checked", "platform.custom_domain.verified", "platform.custom_domain.lapsed"),
    grants_access=True,
    link_types=(CUSTOM_DOMAIN_LINK,),
)
def verify_custom_domain(ctx: Context, custom_domain: CustomDomain) -> CustomDomainOut:
    """Check the DNS of a domain immediately. If the required records exist, the domain is verified.

    The response contains the observed records and, in `lastError`, the problem. A failed or lapsed domain becomes
    pending again.
    """
    _require_claimed(custom_domain)
    fields = query_dns_for_verification_changes(with_ended_verification_restarted(custom_domain, ctx.now), ctx.now)
    has_result = fields["status"] != custom_domain.status and fields["status"] in ("verified", "lapsed")
    ctx.changes.event(custom_domain, f"platform.custom_domain.{fields['status']}" if has_result else None)
    return CustomDomainOut.of(ctx.changes.update(custom_domain, **fields))


@routes.post(
    "/platforms/{platform_id}/custom-domain/links",
    access=require_platform_role(Role.ADMIN),
    scope=None,
    emits="platform.custom_domain.link_created",
    grants_access=True,
    rate_limits=LINK_RATE_LIMITS,
    collection_path=LINK_LOCATION,
)
def create_custom_domain_link(ctx: Context, custom_domain: CustomDomain) -> NewSignedLink:
    """Create a link by which somebody without an account sets up the DNS of a platform's domain for an hour.

    Send it to the person who manages the DNS. Its holder sees the required records and checks them, and nothing else.
    The log shows what they do, as actions of the link. The link ends when you lose the role that this operation
    requires. Without a domain, the problem is `invalid_transition`.
    """
    _require_claimed(custom_domain)
    return create_signed_link(ctx, CUSTOM_DOMAIN_LINK, custom_domain)


def _require_claimed(custom_domain: CustomDomain) -> None:
    if custom_domain.status == "none":
        raise Problem("invalid_transition", "No domain is claimed. POST one to `custom-domain` first.")

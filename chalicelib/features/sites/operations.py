"""HTTP operations on sites."""

from chalicelib.features.sites.entities.sites import (
    DRAFT_TREE,
    PUBLISHED_TREE,
    Site,
    SiteTree,
    require_site_organization_role,
)
from chalicelib.features.sites.logic import (
    SiteWithDomain,
    list_stored_sites,
    load_sites_with_domains,
    reject_unassignable_platform,
)
from chalicelib.features.sites.models.schemas import SiteCreate, SiteOut, SitePatch
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.features.tenancy.purges.entities import delete_container_and_queue_purge
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import NamedListQuery
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea

routes = RouteGroup("sites", scope_areas=(ScopeArea("sites", members_read_all=True),))


@routes.get(
    "/organizations/{organization_id}/sites",
    access=require_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
)
def list_sites(ctx: Context, organization: Organization, query: NamedListQuery) -> ListPage[SiteOut]:
    """List the sites of an organization, the oldest first unless `sort` says otherwise.

    Use it to choose a site to edit. Drafts are included, because all members of the organization may see them. `q`
    searches names and slugs. With `q` a page may be short; the list ends when `nextCursor` is null.
    """
    page = list_stored_sites(ctx, organization, query)
    sites = load_sites_with_domains(ctx, [site for site in page.items if isinstance(site, Site)])
    return ListPage([SiteOut.of(site) for site in sites], page.next_cursor)


@routes.post(
    "/organizations/{organization_id}/sites",
    access=require_organization_role(Role.EDITOR),
    scope="sites:write",
    emits="site.created",
    collection_path="/sites",
)
def create_site(ctx: Context, organization: Organization, body: SiteCreate) -> SiteOut:
    """Create a site. It is a draft until its `status` is set to `published`.

    Assigning it to a platform, whose domain it then uses, requires the role `admin` on that platform.
    """
    reject_unassignable_platform(ctx, organization, body.platform_id)
    fields = body.to_stored_fields_with_defaults() | {"slug": ctx.given_or_derived_slug(body.slug, body.name)}
    site = ctx.changes.create(Site(**ctx.new_id_and_time_fields(), **fields, organization_id=organization.id))
    for tree in (DRAFT_TREE, PUBLISHED_TREE):
        ctx.changes.create(
            SiteTree(**ctx.new_id_and_time_fields(), organization_id=organization.id, site_id=site.id, tree=tree)
        )
    return _site_response(ctx, ctx.changes.event(site))


@routes.get("/sites/{site_id}", access=require_site_organization_role(Role.MEMBER), scope="sites:read", emits=None)
def get_site(ctx: Context, site: Site) -> SiteOut:
    """Get a site.

    Use it to read the host, the status, the home page and the instructions for crawlers. To find a site by the host
    that a visitor entered, resolve the host instead.
    """
    return _site_response(ctx, site)


@routes.patch(
    "/sites/{site_id}",
    access=require_site_organization_role(Role.EDITOR),
    scope="sites:write",
    emits=("site.updated", "site.published", "site.unpublished"),
)
def update_site(ctx: Context, site: SiteWithDomain, body: SitePatch) -> SiteOut:
    """Change a site. `status` = `published` publishes it, and `draft` unpublishes it.

    Assigning it to another platform requires the role `admin` on that platform.
    """
    fields = body.to_stored_fields_with_defaults()
    if body.platform_id != site.platform_id:
        reject_unassignable_platform(ctx, ctx.access.ancestors[Organization], body.platform_id)
    event = None
    if body.status != site.status:
        event = "site.published" if body.status == "published" else "site.unpublished"
        fields["published_at"] = ctx.now if body.status == "published" else None
        fields["first_published_at"] = site.first_published_at or site.published_at or ctx.now
    updated = ctx.changes.event(ctx.changes.update(site.replace(domain=None, platform_slug=None), **fields), event)
    if updated.platform_id == site.platform_id:
        return SiteOut.of(updated.replace(domain=site.domain))
    return _site_response(ctx, updated)


@routes.delete(
    "/sites/{site_id}",
    access=RequireRole(Site, Role.ADMIN, role_at=Organization),
    scope="sites:write",
    emits="site.deleted",
)
def delete_site(ctx: Context, site: Site) -> None:
    """Delete a site with its contents, effective immediately. Another site can be assigned to its platform.

    The slug becomes available, too, but if the site was ever published only after 90 days.
    """
    delete_container_and_queue_purge(ctx.changes, site)
    ctx.changes.event(site)


def _site_response(ctx: Context, site: Site) -> SiteOut:
    return SiteOut.of(load_sites_with_domains(ctx, [site])[0])

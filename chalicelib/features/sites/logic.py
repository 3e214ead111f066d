"""The platform of a site, and the domain that the site takes from it."""

from collections.abc import Iterable, Mapping
from typing import Self, TypeVar

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.authorization.memberships import membership_view, membership_view_keys
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.name_lists import list_records_by_name
from chalicelib.kernel.http.models import NamedListQuery
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import Container, Item, ItemKey, ItemReads
from chalicelib.kernel.storage.record_types import record_from_item

S = TypeVar("S", bound=Site)


class SiteWithDomain(Site):
    """A site with the verified domain of its platform, and so with the `host` that callers see."""

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self]:  # noqa: ARG002 - nothing prefetches the domain
        """Request the domain of the platform, if the site has one, and return the site with it."""
        if not self.platform_id:
            return self
        found = yield [key := CustomDomain.make_item_key(platform_id=self.platform_id)]
        return with_domain(self, CustomDomain.from_item(found[key])) if key in found else self


def list_stored_sites(ctx: Context, organization: Container, query: NamedListQuery) -> ListPage[Site]:
    """Return a page of the sites of an organization, by time of creation or by name."""
    if query.is_by_name:
        return list_records_by_name(
            ctx, Site, query, lambda site: site, Site.name_indexes, organization_id=organization.id
        )
    return ctx.list_records(Site, Site.sibling_index, query, lambda site: site, organization_id=organization.id)


def load_sites_with_domains(ctx: Context, sites: Iterable[Site]) -> list[Site]:
    """Return sites with the verified domains of their platforms. Takes one read."""
    site_list = [*sites]
    keys = [CustomDomain.make_item_key(platform_id=site.platform_id) for site in site_list if site.platform_id]
    domains = (
        {
            each.platform_id: each
            for each in ctx.load_collections_and_keyed_records(keys=keys).instances_of(CustomDomain)
        }
        if keys
        else {}
    )
    return [with_domain(site, domains.get(site.platform_id or "")) for site in site_list]


def with_domain(site: S, custom_domain: CustomDomain | None) -> S:
    """Return a site with the slug of its platform and, if it is verified, the platform's custom domain."""
    if custom_domain is None:
        return site
    domain = custom_domain.domain if custom_domain.status == "verified" else None
    return site.replace(domain=domain, platform_slug=custom_domain.platform_slug)


def reject_unassignable_platform(ctx: Context, organization: Container, platform_id: str | None) -> None:
    """Raise Problem unless the platform belongs to the organization and the caller is an admin of the platform.

    The domain of a platform shows the site that is assigned to it. The transaction fails if the platform or the
    caller's memberships change concurrently.
    """
    if platform_id is None:
        return
    key, user_id = (
        Platform.make_item_key(id=platform_id),
        ctx.principal_or_anonymous.id if isinstance(ctx.principal_or_anonymous, User) else "",
    )
    records = ctx.load_collections_and_keyed_records(
        keys=[key, *(membership_view_keys(user_id, key, [organization.item_key]) if user_id else ())]
    )
    platform = next(iter(records.instances_of(Platform)), None)
    if platform is None or platform.organization_id != organization.id:
        raise ValidationProblem([FieldError("/platformId", "unknown", "No platform of this organization has this id.")])
    if user_id:
        memberships = membership_view(user_id, [organization, platform], records.items_by_key)
        _require_platform_admin(memberships.roles.get(Platform))
        for item in memberships.memberships.values():
            ctx.changes.require_unchanged(record_from_item(item))
    elif not scopes_allow(ctx.api_key_scopes or (), "platforms:write", Role.ADMIN):
        detail = "To assign a site to a platform, the API key needs the scope 'platforms:write' or 'admin'."
        raise Problem.create_with_field_error("/platformId", "insufficient_scope", detail)
    ctx.changes.require_unchanged(platform)


def _require_platform_admin(role: Role | None) -> None:
    if not (role and role.includes(Role.ADMIN)):
        caller_role = f"yours is {role.value!r}" if role else "you have no role there"
        detail = f"Assigning a site to a platform requires the role 'admin' on that platform; {caller_role}."
        raise Problem.create_with_field_error("/platformId", "insufficient_role", detail)

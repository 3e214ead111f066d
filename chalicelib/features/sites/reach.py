"""Sites and platforms of one organization, and what a site takes from its platform."""

from collections.abc import Iterable

from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities import Site
from chalicelib.kernel.context import Context
from chalicelib.kernel.problems import FieldError, Invalid


def with_domains(ctx: Context, sites: Iterable[Site]) -> list[Site]:
    """Return sites as they are reached: of those with a platform one read tells whether it has a verified domain."""
    found = [*sites]
    keys = [CustomDomain.key_of(platform_id=site.platform_id) for site in found if site.platform_id]
    known = {custom.platform_id: custom for custom in ctx.gather(keys=keys).of(CustomDomain)} if keys else {}
    return [site.but(domain=verified(known.get(site.platform_id or ""))) for site in found]


def verified(custom: CustomDomain | None) -> str | None:
    """Return the domain that a custom domain is, if it is verified."""
    return custom.domain if custom and custom.status == "verified" else None


def refuse_foreign_platform(ctx: Context, organization_id: str, platform_id: str | None) -> None:
    """Raise Invalid unless a platform is one of the organization's. It holds until the commit."""
    if platform_id is None:
        return
    platform = next(iter(ctx.gather(keys=[Platform.key_of(id=platform_id)]).of(Platform)), None)
    if platform is None or platform.organization_id != organization_id:
        raise Invalid([FieldError("/platformId", "unknown", "No platform of this organization has this id.")])
    ctx.changes.require(platform)


def refuse_foreign_site(ctx: Context, organization_id: str, site_id: str) -> None:
    """Raise Invalid unless a site is one of the organization's."""
    site = next(iter(ctx.gather(keys=[Site.key_of(id=site_id)]).of(Site)), None)
    if site is None or site.organization_id != organization_id:
        raise Invalid([FieldError("/siteId", "unknown", "No site of this organization has this id.")])

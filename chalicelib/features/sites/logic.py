"""Sites and platforms of one organization, and what a site takes from its platform."""

from collections.abc import Iterable

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.authorization.memberships import membership_view, membership_view_keys
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role, scopes_allow
from chalicelib.kernel.storage.entity import Container
from chalicelib.kernel.storage.record_types import record_from_item


def with_domains(ctx: Context, sites: Iterable[Site]) -> list[Site]:
    """Return sites as they are reached: of those with a platform one read tells whether it has a verified domain."""
    found = [*sites]
    keys = [CustomDomain.make_item_key(platform_id=site.platform_id) for site in found if site.platform_id]
    known = {custom.platform_id: custom for custom in ctx.load(keys=keys).instances_of(CustomDomain)} if keys else {}
    return [site.replace(domain=verified(known.get(site.platform_id or ""))) for site in found]


def verified(custom: CustomDomain | None) -> str | None:
    """Return the domain that a custom domain is, if it is verified."""
    return custom.domain if custom and custom.status == "verified" else None


def refuse_platform_of_others(ctx: Context, organization: Container, platform_id: str | None) -> None:
    """Raise Invalid unless a platform is one of the organization's, and Problem 403 unless the caller is admin there.

    A platform's site is what its domain shows. All of that holds until the commit.
    """
    if platform_id is None:
        return
    key, user_id = Platform.make_item_key(id=platform_id), ctx.principal.id if isinstance(ctx.principal, User) else ""
    found = ctx.load(keys=[key, *(membership_view_keys(user_id, key, [organization.item_key]) if user_id else ())])
    platform = next(iter(found.instances_of(Platform)), None)
    if platform is None or platform.organization_id != organization.id:
        raise ValidationProblem([FieldError("/platformId", "unknown", "No platform of this organization has this id.")])
    if user_id:
        standing = membership_view(user_id, [organization, platform], found.read)
        _refuse_lower(standing.roles.get(Platform))
        for item in standing.memberships.values():
            ctx.changes.require_unchanged(record_from_item(item))
    elif not scopes_allow(ctx.scopes or (), "platforms:write", Role.ADMIN):
        detail = "To let a site be a platform's, the API key needs the scope 'platforms:write', or 'admin'."
        raise Problem.for_field("/platformId", "insufficient_scope", detail)
    ctx.changes.require_unchanged(platform)


def _refuse_lower(role: Role | None) -> None:
    if not (role and role.includes(Role.ADMIN)):
        yours = f"yours is {role.value!r}" if role else "you have none there"
        detail = f"To let a site be a platform's takes the role 'admin' at that platform; {yours}."
        raise Problem.for_field("/platformId", "insufficient_role", detail)

"""Platforms: create, find, change, delete, publish; their theme, navigation and home."""

from chalicelib.features.domains.entities import CustomDomain, called
from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platforms.entities import Platform, at_platform, custom_domain_key
from chalicelib.features.platforms.models import (
    HomePatch,
    NavigationPatch,
    PlatformCreate,
    PlatformOut,
    PlatformPatch,
    PlatformsQuery,
    PlatformSummary,
    Publication,
    ThemePatch,
)
from chalicelib.features.platforms.nested_items import refuse_large, refuse_repeated_ids
from chalicelib.features.platforms.reach import within_reach
from chalicelib.features.platforms.rules import refuse_dangerous
from chalicelib.features.platforms.showing import Sight, maintains
from chalicelib.features.purges.entities import purge
from chalicelib.features.sites.reach import refuse_foreign_site
from chalicelib.features.spaces.reach import keys_of, seen
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.operations.operation import Caller, ListPage, RequireRole, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("platforms")


@routes.get("/platforms", access=Caller.PRINCIPAL, scope="platforms:read", emits=None)
def list_platforms(ctx: Context, query: PlatformsQuery) -> ListPage[PlatformSummary]:
    """List the caller's platforms: those of their organizations, and those they are a member of.

    They come by groups of 25 organizations, as `GET /organizations` lists these, and within a group in the order they
    were created. A page may be short or empty: the list ends where `nextCursor` is null.
    """

    def show(platform: Platform) -> PlatformSummary | None:
        wanted = query.status in (None, platform.status)
        return PlatformSummary.of(platform) if wanted else None

    listed = Platform.by_status if query.status else Platform.sibling_index
    return within_reach(ctx, listed, query, show, organization_id=query.organization_id, status=query.status)


@routes.post(
    "/platforms",
    access=RequireRole(Organization, Role.ADMIN, in_body=True),
    scope="platforms:write",
    emits="platform.created",
    grants_access=True,
)
def create_platform(ctx: Context, body: PlatformCreate) -> PlatformOut:
    """Create a platform in an organization; it is a draft until it is published."""
    fields = body.fields() | {"slug": ctx.choose_slug(body.slug, body.name)}
    platform = ctx.changes.create(Platform(**ctx.new_record_fields(), **fields))
    ctx.changes.create(CustomDomain.none(platform))
    return PlatformOut.of(platform)


@routes.get("/platforms/{platform_id}", access=at_platform(Role.MEMBER), scope="platforms:read", emits=None)
def get_platform(ctx: Context, platform: Platform) -> PlatformOut:
    """Get a platform."""
    return _shown(ctx, platform)


@routes.patch(
    "/platforms/{platform_id}",
    access=at_platform(Role.ADMIN),
    scope="platforms:write",
    emits="platform.updated",
    prefetch=custom_domain_key,
)
def update_platform(ctx: Context, platform: Platform, body: PlatformPatch) -> PlatformOut:
    """Change a platform."""
    updated = ctx.changes.update(platform, **body.fields())
    custom = ctx.find(CustomDomain)
    if custom:
        ctx.changes.update_untracked(custom, **called(updated))
    return _shown(ctx, updated)


@routes.delete(
    "/platforms/{platform_id}",
    access=RequireRole(Platform, Role.ADMIN, role_at=Organization),
    scope="platforms:write",
    emits="platform.deleted",
    grants_access=True,
    prefetch=custom_domain_key,
)
def delete_platform(ctx: Context, platform: Platform) -> None:
    """Delete a platform, and all in it: it is gone at once, and its domain is free again.

    Its slug is free as well, unless it was published once: then nobody else gets that for 90 days.
    """
    purge(ctx.changes, platform)
    custom = ctx.find(CustomDomain)
    if custom:
        ctx.changes.delete(custom)


@routes.patch(
    "/platforms/{platform_id}/home",
    access=at_platform(Role.EDITOR),
    scope="platforms:write",
    emits="platform.home.updated",
)
def update_platform_home(ctx: Context, platform: Platform, body: HomePatch) -> PlatformOut:
    """Change what a platform begins with; what is left out stays as it is."""
    home = body.fields()
    refuse_repeated_ids(home["blocks"], "/blocks")
    refuse_large("home", home)
    if body.space_id and body.space_id != platform.home["space_id"]:
        _refuse_unseen(ctx, platform, body.space_id)
    if body.site_id and body.site_id != platform.home["site_id"]:
        refuse_foreign_site(ctx, platform.organization_id, body.site_id)
    return _shown(ctx, ctx.changes.update(platform, home=home))


@routes.patch(
    "/platforms/{platform_id}/navigation",
    access=at_platform(Role.EDITOR),
    scope="platforms:write",
    emits="platform.navigation.updated",
)
def update_platform_navigation(ctx: Context, platform: Platform, body: NavigationPatch) -> PlatformOut:
    """Change where a platform leads to; its items are replaced as a whole."""
    navigation = body.fields()
    refuse_repeated_ids(navigation["items"], "/items")
    refuse_dangerous(navigation["items"], "/items")
    refuse_large("navigation", navigation)
    return _shown(ctx, ctx.changes.update(platform, navigation=navigation))


@routes.patch(
    "/platforms/{platform_id}/publish",
    access=at_platform(Role.ADMIN),
    scope="platforms:write",
    emits=("platform.published", "platform.unpublished"),
)
def publish_platform(ctx: Context, platform: Platform, body: Publication) -> PlatformOut:
    """Publish a platform, or with `published` = false let it be a draft again."""
    if body.published == platform.is_published:
        return _shown(ctx, platform)
    first = platform.first_published_at or platform.published_at or ctx.now
    if not body.published:
        ctx.changes.event = "platform.unpublished"
        changed = ctx.changes.update(platform, status="draft", published_at=None, first_published_at=first)
        return _shown(ctx, changed)
    changed = ctx.changes.update(platform, status="published", published_at=ctx.now, first_published_at=first)
    return _shown(ctx, changed)


@routes.patch(
    "/platforms/{platform_id}/theme",
    access=at_platform(Role.EDITOR),
    scope="platforms:write",
    emits="platform.theme.updated",
)
def update_platform_theme(ctx: Context, platform: Platform, body: ThemePatch) -> PlatformOut:
    """Change what a platform looks like; what is left out stays as it is.

    Colours that people with weak eyes could not tell apart are kept, and named in `warnings`.
    """
    theme = body.fields()
    refuse_large("theme", theme)
    return _shown(ctx, ctx.changes.update(platform, theme=theme))


def _shown(ctx: Context, platform: Platform) -> PlatformOut:
    """Return a platform as the caller sees it. Those who may change its navigation are shown all of that."""
    sight = Sight(ctx, platform)
    keys = sight.keys()
    parts = sight.parts(ctx.load(keys=keys) if keys else Records())
    whole = {"navigation": platform.navigation} if maintains(ctx) else {}
    return PlatformOut.of(platform.replace(**{**parts, **whole}))


def _refuse_unseen(ctx: Context, platform: Platform, space_id: str) -> None:
    if seen(ctx, platform, space_id, ctx.load(keys=keys_of(ctx, platform, space_id))) is None:
        raise ValidationProblem(
            [FieldError("/spaceId", "unknown", "No space of this platform that you see has this id.")]
        )

"""HTTP operations on platforms, their theme, navigation, home and publication."""

from typing import Any

from chalicelib.features.platforms.domains.entities import (
    CustomDomain,
    platform_labels,
)
from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.logic.navigation_targets import reject_invalid_targets
from chalicelib.features.platforms.logic.navigation_visibility import (
    NavigationVisibility,
    can_edit_navigation,
    require_own_site,
)
from chalicelib.features.platforms.logic.visibility import list_visible_platforms, list_visible_platforms_by_name
from chalicelib.features.platforms.models.nested_items import reject_duplicate_ids, reject_oversized_document
from chalicelib.features.platforms.models.schemas import (
    HomePatch,
    NavigationPatch,
    PlatformCreate,
    PlatformOut,
    PlatformPatch,
    PlatformsQuery,
    PlatformSummaryListItem,
    Publication,
    ThemePatch,
)
from chalicelib.features.platforms.spaces.logic import space_visibility_keys, visible_space_or_none
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.purges.entities import delete_container_and_queue_purge
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.operations.access_rules import Caller, ContainerReference, RequireRole
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import ScopeArea
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("platforms", scope_areas=(ScopeArea("platforms", members_read_all=True),))


class DomainOfPlatform(Prefetched):
    """The custom domain of the platform in the path."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the domain."""
        return [CustomDomain.make_item_key(platform_id=values.parameters[CustomDomain.parameter])]

    @property
    def custom_domain_or_none(self) -> CustomDomain | None:
        """The custom domain, if it exists."""
        return CustomDomain.from_item(self.first_item_or_none) if self.first_item_or_none else None


@routes.get("/platforms", access=Caller.PRINCIPAL, scope="platforms:read", emits=None)
def list_platforms(ctx: Context, query: PlatformsQuery) -> ListPage[PlatformSummaryListItem]:
    """List the platforms of the caller's organizations, and those of which the caller is a member.

    `role` is the caller's role in each of them.

    The list is grouped by 25 organizations, in the order of `GET /organizations`; within a group, platforms are in the
    order of their creation, or in the reverse order with `sort=-createdAt`. A page may be short or empty. The list ends
    when `nextCursor` is null. `q` searches names and slugs, in alphabetical order within each group. Of the platforms
    of other organizations, `q` and `sort=name` find the first 100 that are among the first 1000 platforms of which the
    caller is a member.
    """

    def summarize(platform: Platform, role: Role | None) -> PlatformSummaryListItem | None:
        matches = query.status in (None, platform.status)
        return PlatformSummaryListItem.of(platform, role=role) if matches else None

    if query.is_by_name:
        return list_visible_platforms_by_name(ctx, query, summarize, query.organization_id)
    collection = Platform.by_status if query.status else Platform.sibling_index
    return list_visible_platforms(
        ctx, collection, query, summarize, organization_id=query.organization_id, status=query.status
    )


@routes.post(
    "/platforms",
    access=RequireRole(Organization, Role.ADMIN, ContainerReference.BODY_ID),
    scope="platforms:write",
    emits="platform.created",
    grants_access=True,
)
def create_platform(ctx: Context, body: PlatformCreate) -> PlatformOut:
    """Create a platform in an organization. It is a draft until it is published.

    A platform is one product or community that an organization offers to people: it has its own members, spaces,
    modules, theme and domain. If you omit the slug, it is derived from the name.
    """
    fields = body.to_stored_fields_with_defaults() | {"slug": ctx.given_or_derived_slug(body.slug, body.name)}
    platform = ctx.changes.create(Platform(**ctx.new_id_and_time_fields(), **fields))
    ctx.changes.create(CustomDomain.create_unclaimed(platform))
    return PlatformOut.of(ctx.changes.event(platform))


@routes.get("/platforms/{platform_id}", access=require_platform_role(Role.MEMBER), scope="platforms:read", emits=None)
def get_platform(ctx: Context, platform: Platform) -> PlatformOut:
    """Get a platform.

    The response contains the theme, the navigation and the home page. Navigation items that the caller cannot open are
    omitted, except for callers who can edit them. For everything a front end needs to start, get the configuration
    instead.
    """
    return _platform_output_for_caller(ctx, platform)


@routes.patch(
    "/platforms/{platform_id}",
    access=require_platform_role(Role.ADMIN),
    scope="platforms:write",
    emits="platform.updated",
)
def update_platform(ctx: Context, platform: Platform, body: PlatformPatch, domain: DomainOfPlatform) -> PlatformOut:
    """Change a platform.

    Use it for the name, slug, description, default locale and join policy. A former slug of a published platform stays
    reserved for 90 days. Theme, navigation, home page and publication have operations of their own.
    """
    ctx.changes.event(platform)
    updated = ctx.changes.update(platform, **body.to_stored_fields_with_defaults())
    if custom_domain := domain.custom_domain_or_none:
        ctx.changes.update_untracked(custom_domain, **platform_labels(updated))
    return _platform_output_for_caller(ctx, updated)


@routes.delete(
    "/platforms/{platform_id}",
    access=RequireRole(Platform, Role.ADMIN, role_at=Organization),
    scope="platforms:write",
    emits="platform.deleted",
    grants_access=True,
)
def delete_platform(ctx: Context, platform: Platform, domain: DomainOfPlatform) -> None:
    """Delete a platform and everything in it, effective immediately. Its custom domain becomes available again.

    The slug becomes available too, but if the platform was ever published only after 90 days.
    """
    delete_container_and_queue_purge(ctx.changes, platform)
    ctx.changes.event(platform)
    if custom_domain := domain.custom_domain_or_none:
        ctx.changes.delete(custom_domain)


@routes.patch(
    "/platforms/{platform_id}/home",
    access=require_platform_role(Role.EDITOR),
    scope="platforms:write",
    emits="platform.home.updated",
)
def update_platform_home(ctx: Context, platform: Platform, body: HomePatch) -> PlatformOut:
    """Change the home page of a platform. Omitted fields keep their values.

    The home page has a layout and blocks that your front end renders, and may name a space or a site to open. Atrium
    checks ids and sizes, and stores the settings of blocks as they are.
    """
    home = body.to_stored_fields_with_defaults()
    reject_duplicate_ids(home["blocks"], "/blocks")
    reject_oversized_document("home", home)
    if body.space_id and body.space_id != platform.home["space_id"]:
        _require_visible_space(ctx, platform, body.space_id)
    if body.site_id and body.site_id != platform.home["site_id"]:
        require_own_site(ctx, platform.organization_id, body.site_id)
    return _platform_output_for_caller(ctx, ctx.changes.event(ctx.changes.update(platform, home=home)))


@routes.patch(
    "/platforms/{platform_id}/navigation",
    access=require_platform_role(Role.EDITOR),
    scope="platforms:write",
    emits="platform.navigation.updated",
)
def update_platform_navigation(ctx: Context, platform: Platform, body: NavigationPatch) -> PlatformOut:
    """Change the navigation of a platform. All items are replaced together.

    Items form at most three levels, and link to spaces, pages, modules or addresses. Visitors see only the items whose
    targets they can open.
    """
    navigation = body.to_stored_fields_with_defaults()
    reject_duplicate_ids(navigation["items"], "/items")
    reject_invalid_targets(navigation["items"], "/items")
    reject_oversized_document("navigation", navigation)
    return _platform_output_for_caller(ctx, ctx.changes.event(ctx.changes.update(platform, navigation=navigation)))


@routes.patch(
    "/platforms/{platform_id}/publish",
    access=require_platform_role(Role.ADMIN),
    scope="platforms:write",
    emits=("platform.published", "platform.unpublished"),
)
def publish_platform(ctx: Context, platform: Platform, body: Publication) -> PlatformOut:
    """Publish a platform, or turn it into a draft again with `published` = false.

    A published platform shows its configuration to everybody, and people can join it if its join policy is `open`. A
    draft is visible only to its members and to the organization.
    """
    if body.published == platform.is_published:
        return _platform_output_for_caller(ctx, platform)
    first_published_at = platform.first_published_at or platform.published_at or ctx.now
    ctx.changes.event(platform, "platform.published" if body.published else "platform.unpublished")
    if body.published:
        fields: dict[str, Any] = {"status": "published", "published_at": ctx.now}
    else:
        fields = {"status": "draft", "published_at": None}
    updated = ctx.changes.update(platform, **fields, first_published_at=first_published_at)
    return _platform_output_for_caller(ctx, updated)


@routes.patch(
    "/platforms/{platform_id}/theme",
    access=require_platform_role(Role.EDITOR),
    scope="platforms:write",
    emits="platform.theme.updated",
)
def update_platform_theme(ctx: Context, platform: Platform, body: ThemePatch) -> PlatformOut:
    """Change the theme of a platform. Omitted fields keep their values.

    Colours with too little contrast are accepted and listed in `warnings`.
    """
    theme = body.to_stored_fields_with_defaults()
    reject_oversized_document("theme", theme)
    return _platform_output_for_caller(ctx, ctx.changes.event(ctx.changes.update(platform, theme=theme)))


def _platform_output_for_caller(ctx: Context, platform: Platform) -> PlatformOut:
    """Return a platform as the caller sees it. Callers who may edit the navigation see all of its items."""
    visibility = NavigationVisibility(ctx, platform)
    keys = visibility.prefetch_keys()
    visible_fields = visibility.load_visible_navigation_and_home_fields(
        ctx.load_collections_and_keyed_records(keys=keys) if keys else Records()
    )
    full_navigation = {"navigation": platform.navigation} if can_edit_navigation(ctx) else {}
    return PlatformOut.of(platform.replace(**{**visible_fields, **full_navigation}))


def _require_visible_space(ctx: Context, platform: Platform, space_id: str) -> None:
    if (
        visible_space_or_none(
            ctx,
            platform,
            space_id,
            ctx.load_collections_and_keyed_records(keys=space_visibility_keys(ctx, platform, space_id)),
        )
        is None
    ):
        raise ValidationProblem(
            [FieldError("/spaceId", "unknown", "No space of this platform that is visible to you has this id.")]
        )

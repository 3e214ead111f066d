"""HTTP operations on the configuration of a platform, in general or for a host, space and locale."""

from typing import Final, Literal

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.configuration.logic import HostMatch, config_fields, host_match_kind
from chalicelib.features.platforms.configuration.models import (
    ConfigCapabilityOut,
    ConfigOut,
    MatchedOut,
    MatchedSpaceOut,
    ResolvedConfigOut,
    ResolveRequest,
)
from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.logic.navigation_targets import possible_space_slug_in_path
from chalicelib.features.platforms.logic.navigation_visibility import NavigationVisibility
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.features.platforms.modules.entities import ModuleOverride
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.platforms.spaces.logic import space_visibility_keys, visible_space_or_none
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key, unexpired_reservation_record_id

routes = RouteGroup("platforms")

_PLATFORM_RECORDS: Final = Collection("P#{platform_id}", "C#{id}")
"""The modules, project blocks and custom domain of a platform."""

_TOO_LARGE_ADVICE: Final = "Get the platform, its modules and its project blocks with separate operations."


@routes.get(
    "/platforms/{platform_id}/config",
    access=require_platform_role(Role.MEMBER, if_published=True),
    scope="platforms:read",
    emits=None,
    alternative=_TOO_LARGE_ADVICE,
)
def get_platform_config(ctx: Context, platform: Platform) -> ConfigOut:
    """Get the configuration that a front end needs to start.

    Callers without a role see the public parts of a published platform: the custom domain only if it is verified and
    without its DNS records, no settings of modules that are off, and no project blocks that are off. The navigation and
    home include private spaces, and unpublished sites and pages, only for callers who can see them.
    """
    ctx.allow_caching()
    visibility = NavigationVisibility(ctx, platform)
    records = ctx.load_collections_and_keyed_records(_PLATFORM_RECORDS, keys=visibility.prefetch_keys())
    return ConfigOut.of(
        config_fields(
            platform,
            records,
            None,
            is_anonymous=ctx.role is None,
            visible_navigation_and_home=visibility.load_visible_navigation_and_home_fields(records),
        )
    )


class SpaceSlugGuard(Prefetched):
    """The item that maps the slug in the `path` of the body to a space."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the key of the item, if there is a slug."""
        slug = possible_space_slug_in_path(values.body_field_or_none("path"))
        fields = {Platform.parameter: values.parameters[Platform.parameter], "slug": slug}
        return [guard_key(Space.by_slug, fields)] if slug else []


@routes.post(
    "/platforms/{platform_id}/resolve-config",
    success=200,
    access=require_platform_role(Role.MEMBER, if_published=True),
    scope="platforms:read",
    emits=None,
    alternative=_TOO_LARGE_ADVICE,
)
def resolve_platform_config(
    ctx: Context, platform: Platform, body: ResolveRequest, slug_guard: SpaceSlugGuard
) -> ResolvedConfigOut:
    """Get the configuration of a platform for a host, space and locale. `matched` tells how they were resolved.

    `spaceId` selects a space, or else the slug in `path` does: its first segment, or the one after `/spaces`. The
    module overrides of the space apply, and its capabilities are listed. A `spaceId` that the caller can't see is not
    found. A path without a space, or a host that is not a domain of the platform, is not an error.
    """
    space_id, selected_by = _space_id_and_selecting_field(body, slug_guard)
    visibility = NavigationVisibility(ctx, platform)
    space, records = _load_visible_space_and_records(ctx, platform, space_id, visibility)
    if space is None and body.space_id:
        raise not_found()
    matched = MatchedOut(
        host=_host_match_kind_or_none(platform, body.host, records),
        space=MatchedSpaceOut(id=space.id, slug=space.slug, name=space.name, by=selected_by) if space else None,
        locale=body.locale or platform.default_locale,
    )
    capabilities = [ConfigCapabilityOut.of(capability) for capability in records.instances_of(Capability)]
    config = config_fields(
        platform,
        records,
        space,
        is_anonymous=ctx.role is None,
        visible_navigation_and_home=visibility.load_visible_navigation_and_home_fields(records),
    )
    return ResolvedConfigOut.of({**config, "capabilities": capabilities, "matched": matched})


def _host_match_kind_or_none(platform: Platform, host: str | None, records: Records) -> HostMatch | None:
    """Return which domain of a platform a host is. `records` includes the custom domain of the platform."""
    custom_domain = next(iter(records.instances_of(CustomDomain)), None)
    return host_match_kind(host, platform, custom_domain, section(PlatformSettings).platforms_domain)


def _load_visible_space_and_records(
    ctx: Context, platform: Platform, space_id: str | None, visibility: NavigationVisibility
) -> tuple[Space | None, Records]:
    """Return the space if the caller can see it, and the records of the configuration.

    The records include the capabilities and module overrides of a visible space.
    """
    if space_id is None:
        return None, ctx.load_collections_and_keyed_records(_PLATFORM_RECORDS, keys=visibility.prefetch_keys())
    keys = [*space_visibility_keys(ctx, platform, space_id), *visibility.prefetch_keys()]
    collections = (_PLATFORM_RECORDS, Capability.in_space, ModuleOverride.in_space)
    records = ctx.load_collections_and_keyed_records(*collections, keys=keys, **{Space.parameter: space_id})
    if space := visible_space_or_none(ctx, platform, space_id, records):
        return space, records
    platform_records = (record for record in records if not isinstance(record, Capability | ModuleOverride))
    return None, Records(platform_records, records.requested_keys, records.items_by_key)


def _space_id_and_selecting_field(
    body: ResolveRequest, slug_guard: SpaceSlugGuard
) -> tuple[str | None, Literal["spaceId", "path"]]:
    """Return the id of the space that a request selects, or None, and the field of the body that selects it."""
    if body.space_id:
        return body.space_id, "spaceId"
    return unexpired_reservation_record_id(slug_guard.first_item_or_none), "path"

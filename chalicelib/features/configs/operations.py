"""The config of a platform: as it is, and as it is at a host, in a space, in a language."""

from typing import Final, Literal

from chalicelib.features.capabilities.entities import Capability
from chalicelib.features.configs.models import (
    ConfigCapabilityOut,
    ConfigOut,
    MatchedOut,
    MatchedSpaceOut,
    ResolvedConfigOut,
    ResolveRequest,
)
from chalicelib.features.configs.rules import HostMatch, host_match, said
from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.modules.entities import ModuleOverride
from chalicelib.features.platforms.entities import Platform, at_platform
from chalicelib.features.platforms.rules import slug_in
from chalicelib.features.platforms.showing import Sight
from chalicelib.features.spaces.entities import Space
from chalicelib.features.spaces.reach import keys_of, seen
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key, referenced_id

routes = RouteGroup("platforms")

_OF_THE_PLATFORM: Final = Collection("P#{platform_id}", "C#{id}")
"""Its modules, its project blocks and its custom domain."""


_INSTEAD: Final = "Ask for the platform, its modules and its project blocks, by operations of their own."


@routes.get(
    "/platforms/{platform_id}/config",
    access=at_platform(Role.MEMBER, if_published=True),
    scope="platforms:read",
    emits=None,
    alternative=_INSTEAD,
)
def get_platform_config(ctx: Context, platform: Platform) -> ConfigOut:
    """Get all that a front end has to know of a platform to begin with.

    Whoever has no part in it is shown what is public, once it is published: a custom domain that is verified, without
    the records for its DNS; no settings of modules that are off, and no project blocks that are. Private spaces, and
    sites and pages that are not published, are in its navigation and home for those who see them.
    """
    ctx.allow_caching()
    sight = Sight(ctx, platform)
    found = ctx.load(_OF_THE_PLATFORM, keys=sight.keys())
    return ConfigOut.of(said(platform, found, None, public=ctx.role is None, parts=sight.parts(found)))


def _path_in(request: Request) -> list[ItemKey]:
    """Return where it stands which space the path in the body names, if it can name one."""
    slug = slug_in(request.unvalidated_body.get("path"))
    names = {Platform.parameter: request.parameters[Platform.parameter], "slug": slug}
    return [guard_key(Space.by_slug, names)] if slug else []


@routes.post(
    "/platforms/{platform_id}/resolve-config",
    success=200,
    access=at_platform(Role.MEMBER, if_published=True),
    scope="platforms:read",
    emits=None,
    prefetch=_path_in,
    alternative=_INSTEAD,
)
def resolve_platform_config(ctx: Context, platform: Platform, body: ResolveRequest) -> ResolvedConfigOut:
    """Get the config of a platform as it is at a host, in a space, in a language; `matched` says what was found.

    The space is the one of `spaceId`, or else the one whose slug `path` begins with, itself or behind `/spaces`. Its
    overrides are applied to the modules, and its capabilities are listed. A `spaceId` of none that the caller sees is
    not found; a path that names none is no fault, nor is a host that is not the platform's.
    """
    space_id, by = _named(ctx, body)
    sight = Sight(ctx, platform)
    space, found = _space_seen(ctx, platform, space_id, sight)
    if space is None and body.space_id:
        raise not_found()
    matched = MatchedOut(
        host=_host(platform, body.host, found),
        space=MatchedSpaceOut(id=space.id, slug=space.slug, name=space.name, by=by) if space else None,
        locale=body.locale or platform.default_locale,
    )
    capabilities = [ConfigCapabilityOut.of(capability) for capability in found.instances_of(Capability)]
    config = said(platform, found, space, public=ctx.role is None, parts=sight.parts(found))
    return ResolvedConfigOut.of({**config, "capabilities": capabilities, "matched": matched})


def _host(platform: Platform, host: str | None, found: Records) -> HostMatch | None:
    """Return which of a platform's names a host is; `found` holds its custom domain."""
    custom = next(iter(found.instances_of(CustomDomain)), None)
    return host_match(host, platform, custom, settings().platforms_domain)


def _space_seen(ctx: Context, platform: Platform, space_id: str | None, sight: Sight) -> tuple[Space | None, Records]:
    """Return a space if the caller sees it, and what the config is made of: with the space's own records if so."""
    if space_id is None:
        return None, ctx.load(_OF_THE_PLATFORM, keys=sight.keys())
    keys, names = [*keys_of(ctx, platform, space_id), *sight.keys()], {Space.parameter: space_id}
    found = ctx.load(_OF_THE_PLATFORM, Capability.in_space, ModuleOverride.in_space, keys=keys, **names)
    if space := seen(ctx, platform, space_id, found):
        return space, found
    others = (record for record in found if not isinstance(record, Capability | ModuleOverride))
    return None, Records(others, found.asked, found.read)


def _named(ctx: Context, body: ResolveRequest) -> tuple[str | None, Literal["spaceId", "path"]]:
    """Return the id of the space that a request names, if it names one, and what names it."""
    if body.space_id:
        return body.space_id, "spaceId"
    guards = [ctx.access.prefetched[key] for key in _path_in(ctx.request) if key in ctx.access.prefetched]
    return next(filter(None, map(referenced_id, guards)), None), "path"

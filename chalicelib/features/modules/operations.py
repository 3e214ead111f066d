"""Modules: what a platform switches on and off, what its spaces override, and what holds in a space in the end."""

from chalicelib.features.modules.entities import ModuleOverride, ModuleSet, OverrideSet, PlatformModule
from chalicelib.features.modules.models import (
    EffectiveModuleOut,
    ModuleOut,
    ModulesPatch,
    OverrideOut,
    OverridesPut,
    OverrideWrite,
)
from chalicelib.features.modules.rules import changed, effective, modules_of
from chalicelib.features.platforms.entities import Platform, at_platform
from chalicelib.features.spaces.entities import Space, at_space
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("platforms")
in_spaces = RouteGroup("spaces", routes.operations)


@routes.get("/platforms/{platform_id}/modules", access=at_platform(Role.MEMBER), scope="platforms:read", emits=None)
def list_platform_modules(ctx: Context, query: SmallListQuery) -> ListPage[ModuleOut]:
    """List the modules of a platform: those of the catalogue, then its own in the order it named them."""
    stored = ctx.load(PlatformModule.in_platform).instances_of(PlatformModule)
    return ctx.slice_page([ModuleOut.of(module) for module in modules_of(stored)], query)


@routes.patch(
    "/platforms/{platform_id}/modules",
    access=at_platform(Role.ADMIN),
    scope="platforms:write",
    emits="platform.modules.updated",
)
def update_platform_modules(ctx: Context, platform: Platform, body: ModulesPatch) -> ListPage[ModuleOut]:
    """Change the modules that are named, up to 40 at once, all or none; the answer lists them all.

    Each is changed as by a JSON Merge Patch: what is left out stays, null stands for the default, and `settings` are
    merged. A well-formed id that the catalogue doesn't have makes a module of the platform's own. With null for
    `enabled`, `locked` and `settings` the platform forgets a module: one of the catalogue is as it was at first, one of
    its own is gone. Every change gives the platform another version: `If-Match` takes the platform's `ETag`.
    """
    present = ctx.load(PlatformModule.in_platform).instances_of(PlatformModule)
    said = {module.module_id: module for module in present}
    states = changed(said, body.modules)
    named = [{"module_id": module_id, **state.fields()} for module_id, state in states.items() if state]
    stay = [module for module in present if module.module_id not in states]
    wanted = [*stay, *ctx.new_records(PlatformModule, named, **platform.ancestor_ids)]
    ModuleSet.check_size(wanted)
    kept = ctx.changes.replace_set(
        platform, present, wanted, lambda place, stored: ModuleSet.of(place, modules_of(stored))
    )
    return ListPage([ModuleOut.of(module) for module in modules_of(kept)], None)


@in_spaces.get(
    "/spaces/{space_id}/effective-modules",
    access=at_space(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_effective_modules(ctx: Context, query: SmallListQuery) -> ListPage[EffectiveModuleOut]:
    """List the modules as they are in a space, each with what decided that it is on or off.

    The catalogue switches all on; the platform decides otherwise, then the space by an override, unless the platform
    has locked the module. What depends on a module that is off is off. An override of a module that the platform
    doesn't have is listed as off, last.
    """
    found = ctx.load(PlatformModule.in_platform, ModuleOverride.in_space)
    modules = effective(modules_of(found.instances_of(PlatformModule)), found.instances_of(ModuleOverride))
    return ctx.slice_page([EffectiveModuleOut.of(module) for module in modules], query)


@in_spaces.get(
    "/spaces/{space_id}/module-overrides",
    access=at_space(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_module_overrides(ctx: Context, query: SmallListQuery) -> ListPage[OverrideOut]:
    """List what a space says of modules, in the order it began to."""
    return ctx.slice_page([OverrideOut.of(override) for override in _overrides(ctx)], query)


@in_spaces.post(
    "/spaces/{space_id}/module-overrides",
    access=at_space(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_override.set",
    existing_status=200,
)
def set_module_override(ctx: Context, space: Space, body: OverrideWrite) -> OverrideOut:
    """Let a space override a module: 201 if it didn't before, 200 if it did. What is left out is the default.

    It counts as long as the platform has the module and doesn't lock it.
    """
    present = {override.module_id: override for override in _overrides(ctx)}
    known = present.get(body.module_id)
    ctx.already_existed = known is not None
    if known:
        override = ctx.changes.update(known, **body.fields())
    else:
        override = ctx.changes.create(ModuleOverride(**ctx.new_record_fields(), **space.ancestor_ids, **body.fields()))
    OverrideSet.check_size([*(present | {body.module_id: override}).values()])
    ctx.changes.touch_if_changed(space)
    return OverrideOut.of(override)


@in_spaces.put(
    "/spaces/{space_id}/module-overrides",
    access=at_space(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_overrides.replaced",
)
def replace_module_overrides(ctx: Context, space: Space, body: OverridesPut) -> ListPage[OverrideOut]:
    """Replace all that a space says of modules, up to 40 of them, at once; the answer lists them.

    Every change of them gives the space another version: `If-Match` takes the space's `ETag`.
    """
    wanted = ctx.new_records(ModuleOverride, [write.fields() for write in body.overrides], **space.ancestor_ids)
    OverrideSet.check_size(wanted)
    kept = ctx.changes.replace_set(space, _overrides(ctx), wanted, OverrideSet.of)
    return ListPage([OverrideOut.of(override) for override in kept], None)


@in_spaces.get(
    "/spaces/{space_id}/module-overrides/{module_id}",
    access=at_space(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def get_module_override(_ctx: Context, override: ModuleOverride) -> OverrideOut:
    """Get what a space says of a module."""
    return OverrideOut.of(override)


@in_spaces.delete(
    "/spaces/{space_id}/module-overrides/{module_id}",
    access=at_space(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_override.removed",
)
def remove_module_override(ctx: Context, space: Space, override: ModuleOverride) -> None:
    """Let a space inherit a module from its platform again."""
    ctx.changes.delete(override)
    ctx.changes.touch_if_changed(space)


def _overrides(ctx: Context) -> list[ModuleOverride]:
    return ctx.load(ModuleOverride.in_space).instances_of(ModuleOverride)

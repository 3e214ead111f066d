"""HTTP operations on the modules of platforms, and their overrides and effective state in spaces."""

from collections.abc import Sequence

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.modules.entities import ModuleOverride, ModuleOverrideSet, ModuleSet, PlatformModule
from chalicelib.features.platforms.modules.logic import configured_modules, effective_modules, states_of_changed_modules
from chalicelib.features.platforms.modules.models.schemas import (
    EffectiveModuleOut,
    ModuleOut,
    ModulesPatch,
    OverrideOut,
    OverridesPut,
    OverrideWrite,
)
from chalicelib.features.platforms.spaces.entities import Space, require_space_role
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import SmallListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container

routes = RouteGroup("platforms")
space_routes = RouteGroup("spaces", routes.operations)


@routes.get(
    "/platforms/{platform_id}/modules", access=require_platform_role(Role.MEMBER), scope="platforms:read", emits=None
)
def list_platform_modules(ctx: Context, query: SmallListQuery) -> ListPage[ModuleOut]:
    """List the modules of a platform: those of the catalogue, then its own in the order of their creation.

    A module is a part of your product, such as events or a forum, that can be switched on and off. Atrium stores the
    switch and the settings; your front end shows the module. Disabled modules are listed, too.
    """
    stored = ctx.load_collections_and_keyed_records(PlatformModule.in_platform).instances_of(PlatformModule)
    return ctx.slice_page([ModuleOut.of(module) for module in configured_modules(stored)], query)


@routes.patch(
    "/platforms/{platform_id}/modules",
    access=require_platform_role(Role.ADMIN),
    scope="platforms:write",
    emits="platform.modules.updated",
)
def update_platform_modules(ctx: Context, platform: Platform, body: ModulesPatch) -> ListPage[ModuleOut]:
    """Change up to 40 modules atomically. The response lists all modules of the platform.

    Each change is a JSON Merge Patch: omitted fields keep their values, null resets to the default, and `settings` are
    merged. A well-formed id that is not in the catalogue creates a module of the platform's own. Null for `enabled`,
    `locked` and `settings` removes the settings of a module: a module of the catalogue returns to its defaults, a
    module of the platform's own is deleted. Each change raises the version of the platform: `If-Match` takes the
    platform's `ETag`.
    """
    current = ctx.load_collections_and_keyed_records(PlatformModule.in_platform).instances_of(PlatformModule)
    states = states_of_changed_modules({module.module_id: module for module in current}, body.modules)
    fields = [
        {"module_id": module_id, **state.to_stored_fields_with_defaults()}
        for module_id, state in states.items()
        if state
    ]
    unchanged = [module for module in current if module.module_id not in states]
    new_modules = [*unchanged, *ctx.new_records(PlatformModule, fields, **platform.ids_by_parameter)]
    ModuleSet.reject_too_many_or_large_records(new_modules)

    def module_set(container: Container, modules: Sequence[PlatformModule]) -> ModuleSet:
        return ModuleSet.from_container_and_records(container, configured_modules(modules))

    stored = ctx.changes.replace_set(platform, current, new_modules, module_set)
    return ListPage([ModuleOut.of(module) for module in configured_modules(stored)], None)


@space_routes.get(
    "/spaces/{space_id}/effective-modules",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_effective_modules(ctx: Context, query: SmallListQuery) -> ListPage[EffectiveModuleOut]:
    """List the effective state of all modules in a space, with the source of each state.

    Modules are on by default. The platform may switch a module off or on, and the space may override it unless the
    platform has locked the module. A module whose dependency is off is off. Overrides of modules that the platform
    doesn't have are listed last, as off.
    """
    records = ctx.load_collections_and_keyed_records(PlatformModule.in_platform, ModuleOverride.in_space)
    modules = effective_modules(
        configured_modules(records.instances_of(PlatformModule)), records.instances_of(ModuleOverride)
    )
    return ctx.slice_page([EffectiveModuleOut.of(module) for module in modules], query)


@space_routes.get(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_module_overrides(ctx: Context, query: SmallListQuery) -> ListPage[OverrideOut]:
    """List the module overrides of a space, in the order of their creation.

    The list contains what the space asks for, whether it has an effect or not. The effective modules show the result.
    """
    return ctx.slice_page([OverrideOut.of(override) for override in _load_overrides(ctx)], query)


@space_routes.post(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_override.set",
    existing_status=200,
)
def set_module_override(ctx: Context, space: Space, body: OverrideWrite) -> OverrideOut:
    """Create (201) or replace (200) the override of a module by a space. Omitted fields get their defaults.

    The override applies while the platform has the module and doesn't lock it.
    """
    overrides = {override.module_id: override for override in _load_overrides(ctx)}
    existing = overrides.get(body.module_id)
    ctx.already_existed = existing is not None
    if existing:
        override = ctx.changes.update(existing, **body.to_stored_fields_with_defaults())
    else:
        override = ctx.changes.create(
            ModuleOverride(
                **ctx.new_id_and_time_fields(), **space.ids_by_parameter, **body.to_stored_fields_with_defaults()
            )
        )
    ModuleOverrideSet.reject_too_many_or_large_records([*(overrides | {body.module_id: override}).values()])
    ctx.changes.bump_version_if_anything_changes(space)
    return OverrideOut.of(override)


@space_routes.put(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_overrides.replaced",
)
def replace_module_overrides(ctx: Context, space: Space, body: OverridesPut) -> ListPage[OverrideOut]:
    """Replace all module overrides of a space, up to 40. The response lists them.

    Modules that the list does not contain are inherited from the platform again. Each change raises the version of the
    space: `If-Match` takes the space's `ETag`.
    """
    new_overrides = ctx.new_records(
        ModuleOverride,
        [write.to_stored_fields_with_defaults() for write in body.overrides],
        **space.ids_by_parameter,
    )
    ModuleOverrideSet.reject_too_many_or_large_records(new_overrides)
    stored = ctx.changes.replace_set(
        space, _load_overrides(ctx), new_overrides, ModuleOverrideSet.from_container_and_records
    )
    return ListPage([OverrideOut.of(override) for override in stored], None)


@space_routes.get(
    "/spaces/{space_id}/module-overrides/{module_id}",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def get_module_override(_ctx: Context, override: ModuleOverride) -> OverrideOut:
    """Get the override of a module by a space.

    Use it to show how a space differs from its platform. A module without an override is not found, because the space
    inherits it.
    """
    return OverrideOut.of(override)


@space_routes.delete(
    "/spaces/{space_id}/module-overrides/{module_id}",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_override.removed",
)
def remove_module_override(ctx: Context, space: Space, override: ModuleOverride) -> None:
    """Remove the override of a module, so that the space inherits the module from its platform.

    The settings of the override are deleted. Other spaces of the platform are not affected.
    """
    ctx.changes.delete(override)
    ctx.changes.bump_version_if_anything_changes(space)


def _load_overrides(ctx: Context) -> list[ModuleOverride]:
    return ctx.load_collections_and_keyed_records(ModuleOverride.in_space).instances_of(ModuleOverride)

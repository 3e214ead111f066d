"""HTTP operations on the modules of platforms, and their overrides and effective state in spaces."""

from collections.abc import Sequence

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.logic.record_set_replacement import replace_record_set
from chalicelib.features.platforms.modules.entities import ModuleOverride, ModuleOverrideSet, ModuleSet, PlatformModule
from chalicelib.features.platforms.modules.logic.effective_modules import configured_modules, effective_modules
from chalicelib.features.platforms.modules.logic.module_changes import similar_id_warnings, states_of_changed_modules
from chalicelib.features.platforms.modules.models.schemas import (
    EffectiveModuleOut,
    ModuleOut,
    ModulesPatch,
    ModuleWarnings,
    OverrideEffectOut,
    OverrideOut,
    OverridesPut,
    OverrideWithEffectOut,
    OverrideWrite,
    UpdatedModuleListItem,
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
    list_metadata=ModuleWarnings,
)
def update_platform_modules(ctx: Context, platform: Platform, body: ModulesPatch) -> ListPage[UpdatedModuleListItem]:
    """Change up to 40 modules atomically. The response lists all modules of the platform.

    Each change is a JSON Merge Patch: omitted fields keep their values, null resets to the default, and `settings` are
    merged. A well-formed id that is not in the catalogue creates a module of the platform's own. If the new id is
    similar to the id of another module, `warnings` says so. Null for `enabled`, `locked` and `settings` removes the
    settings of a module: a module of the catalogue returns to its defaults, a module of the platform's own is deleted.
    Each change raises the version of the platform: `If-Match` takes the platform's `ETag`.

    A module of the platform's own may depend on other modules (`dependsOn`). It is off in a space where one of them is
    off. Modules that would depend on each other are rejected with `cycle`.
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

    stored = replace_record_set(ctx.changes, platform, current, new_modules, module_set)
    warnings = similar_id_warnings(body.modules, states, {module.module_id for module in current})
    modules = [UpdatedModuleListItem.of(module) for module in configured_modules(stored)]
    return ListPage(modules, None, ModuleWarnings(warnings=warnings))


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
    modules, overrides = _load_modules_and_overrides(ctx)
    effective = effective_modules(configured_modules(modules), overrides)
    return ctx.slice_page([EffectiveModuleOut.of(module) for module in effective], query)


@space_routes.get(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def list_module_overrides(ctx: Context, query: SmallListQuery) -> ListPage[OverrideWithEffectOut]:
    """List the module overrides of a space, in the order of their creation, with the effect of each.

    The list contains what the space asks for, whether it has an effect or not.
    """
    modules, overrides = _load_modules_and_overrides(ctx)
    return ctx.slice_page(_present_with_effects(modules, overrides), query)


@space_routes.post(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_override.set",
    existing_status=200,
)
def set_module_override(ctx: Context, space: Space, body: OverrideWrite) -> OverrideWithEffectOut:
    """Create (201) or replace (200) the override of a module by a space. Omitted fields get their defaults.

    The override applies while the platform has the module and doesn't lock it. `effective` shows the state of the
    module in the space, and what prevents the override from applying.
    """
    modules, stored_overrides = _load_modules_and_overrides(ctx)
    overrides = {override.module_id: override for override in stored_overrides}
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
    overrides[body.module_id] = override
    ModuleOverrideSet.reject_too_many_or_large_records([*overrides.values()])
    if not ctx.changes.is_empty:
        ctx.changes.event(override)
        ctx.changes.update(space, touch=True)
    return next(
        each for each in _present_with_effects(modules, [*overrides.values()]) if each.module_id == body.module_id
    )


@space_routes.put(
    "/spaces/{space_id}/module-overrides",
    access=require_space_role(Role.ADMIN),
    scope="spaces:write",
    emits="space.module_overrides.replaced",
)
def replace_module_overrides(ctx: Context, space: Space, body: OverridesPut) -> ListPage[OverrideWithEffectOut]:
    """Replace all module overrides of a space, up to 40. The response lists them with the effect of each.

    Modules that the list does not contain are inherited from the platform again. Each change raises the version of the
    space: `If-Match` takes the space's `ETag`.
    """
    new_overrides = ctx.new_records(
        ModuleOverride,
        [write.to_stored_fields_with_defaults() for write in body.overrides],
        **space.ids_by_parameter,
    )
    ModuleOverrideSet.reject_too_many_or_large_records(new_overrides)
    modules, overrides = _load_modules_and_overrides(ctx)
    create_set = ModuleOverrideSet.from_container_and_records
    stored = replace_record_set(ctx.changes, space, overrides, new_overrides, create_set)
    return ListPage(_present_with_effects(modules, stored), None)


@space_routes.get(
    "/spaces/{space_id}/module-overrides/{module_id}",
    access=require_space_role(Role.MEMBER),
    scope="spaces:read",
    emits=None,
)
def get_module_override(ctx: Context, override: ModuleOverride) -> OverrideWithEffectOut:
    """Get the override of a module by a space, with its effect.

    Use it to show how a space differs from its platform. A module without an override is not found, because the space
    inherits it.
    """
    modules, overrides = _load_modules_and_overrides(ctx)
    others = [each for each in overrides if each.module_id != override.module_id]
    return _present_with_effects(modules, [override, *others])[0]


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
    ctx.changes.event(override)
    ctx.changes.update(space, touch=True)


def _load_modules_and_overrides(ctx: Context) -> tuple[list[PlatformModule], list[ModuleOverride]]:
    """Return the stored modules of the platform of a space, and the overrides of the space."""
    records = ctx.load_collections_and_keyed_records(PlatformModule.in_platform, ModuleOverride.in_space)
    return records.instances_of(PlatformModule), records.instances_of(ModuleOverride)


def _present_with_effects(
    modules: Sequence[PlatformModule], overrides: Sequence[ModuleOverride]
) -> list[OverrideWithEffectOut]:
    """Return the responses for all overrides of a space. `modules`: the stored modules of its platform."""
    effective = {module.module_id: module for module in effective_modules(configured_modules(modules), overrides)}
    return [
        OverrideWithEffectOut(
            **dict(OverrideOut.of(override)), effective=OverrideEffectOut.of(effective[override.module_id])
        )
        for override in overrides
    ]

"""Examples of the operations on the modules of platforms and spaces."""

from typing import Any, Final

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_platform_modules": lambda world: example(platform_id=world.platform.id),
    "update_platform_modules": lambda world: example(
        {"modules": [{"moduleId": "events", "enabled": False}, {"moduleId": "looms", "settings": {"columns": 2}}]},
        about=f"{world.platform.path}/modules",
        platform_id=world.platform.id,
    ),
    "list_effective_modules": lambda world: example(space_id=world.space.id),
    "list_module_overrides": lambda world: example(space_id=world.space.id),
    "set_module_override": lambda world: example(
        {"moduleId": "looms", "enabled": False, "settings": {"columns": 2}}, space_id=world.space.id
    ),
    "replace_module_overrides": lambda world: example(
        {"overrides": [{"moduleId": "research"}, {"moduleId": "feed", "enabled": False}]},
        about=f"{world.space.path}/module-overrides",
        space_id=world.space.id,
    ),
    "get_module_override": lambda world: example(space_id=world.space.id, module_id=world.organization.module_id),
    "remove_module_override": lambda world: example(space_id=world.space.id, module_id=world.organization.module_id),
}


def crowd(world: World, number: int) -> None:
    """Let the platform say something of so many modules, as far as it may, and let the space override them."""
    ids = [*MODULE_CATALOGUE, *(f"crowd-{n}" for n in range(number))][:number][:_FEW]
    put(
        PlatformModule(**begun, **_in_platform(world), module_id=m) for begun, m in zip(new(len(ids)), ids, strict=True)
    )
    overrides = zip(new(len(ids)), ids, strict=True)
    put(ModuleOverride(**begun, **_in_platform(world), space_id=world.space.id, module_id=m) for begun, m in overrides)


_FEW: Final = 10
"""A set is bounded: replacing it takes as many writes as it has members."""


def _in_platform(world: World) -> dict[str, Any]:
    return {"organization_id": world.id, "platform_id": world.platform.id}

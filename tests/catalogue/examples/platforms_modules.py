"""Examples of the operations on the modules of platforms and spaces."""

from typing import Any, Final

from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "update_platform_modules": lambda world: example(
        {"modules": [{"moduleId": "events", "enabled": False}, {"moduleId": "looms", "settings": {"columns": 2}}]},
        subject_path=f"{world.platform.path}/modules",
    ),
    "set_module_override": lambda _: example({"moduleId": "looms", "enabled": False, "settings": {"columns": 2}}),
    "replace_module_overrides": lambda world: example(
        {"overrides": [{"moduleId": "research"}, {"moduleId": "feed", "enabled": False}]},
        subject_path=f"{world.space.path}/module-overrides",
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add modules to the platform, up to the limit, and overrides of them to the space."""
    ids = [*MODULE_CATALOGUE, *(f"crowd-{n}" for n in range(count))][:count][:_MAX_SET_SIZE]
    put_records(
        PlatformModule(**common_fields, **_platform_fields(world), module_id=m)
        for common_fields, m in zip(new_records_fields(len(ids)), ids, strict=True)
    )
    overrides = zip(new_records_fields(len(ids)), ids, strict=True)
    put_records(
        ModuleOverride(**common_fields, **_platform_fields(world), space_id=world.space.id, module_id=m)
        for common_fields, m in overrides
    )


_MAX_SET_SIZE: Final = 10
"""The size of sets is limited, because a replacement takes a write for each member."""


def _platform_fields(world: TenantFixture) -> dict[str, Any]:
    return {"organization_id": world.id, "platform_id": world.platform.id}

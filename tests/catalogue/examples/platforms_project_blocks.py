"""Examples of the operations on project blocks."""

from typing import Any, Final

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "update_project_blocks": lambda world: example(
        {"projectBlocks": [{"projectBlockId": "gallery"}, {"projectBlockId": "showcase", "enabled": False}]},
        subject_path=f"{world.platform.path}/project-blocks",
    )
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add project blocks to the platform, up to the limit, and other platforms with the block of the examples."""
    put_records(
        ProjectBlock(
            **common_fields, **_container_ids(world, world.platform.id), project_block_id=f"crowd-{n}", position=n + 1
        )
        for n, common_fields in enumerate(new_records_fields(min(count, _MAX_SET_SIZE)))
    )
    common_fields = new_records_fields(count)
    put_records(
        Platform(**b, organization_id=world.id, name=f"User {n}", slug=f"user-{n}") for n, b in enumerate(common_fields)
    )
    shared = world.organization.project_block_id
    put_records(
        ProjectBlock(**b, **_container_ids(world, b["id"]), project_block_id=shared, position=0) for b in common_fields
    )


_MAX_SET_SIZE: Final = 10
"""The size of sets is limited, because a replacement takes a write for each member."""


def _container_ids(world: TenantFixture, platform_id: str) -> dict[str, Any]:
    return {"organization_id": world.id, "platform_id": platform_id}

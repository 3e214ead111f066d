"""Examples of the operations on project blocks."""

from typing import Any, Final

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_project_blocks": lambda world: example(platform_id=world.platform.id),
    "update_project_blocks": lambda world: example(
        {"projectBlocks": [{"projectBlockId": "gallery"}, {"projectBlockId": "showcase", "enabled": False}]},
        about=f"{world.platform.path}/project-blocks",
        platform_id=world.platform.id,
    ),
    "list_project_block_platforms": lambda world: example(project_block_id=world.organization.project_block_id),
}


def crowd(world: World, number: int) -> None:
    """Let the platform have so many project blocks, as far as it may, and so many others the one of the examples."""
    put(
        ProjectBlock(**begun, **_in(world, world.platform.id), project_block_id=f"crowd-{n}", position=n + 1)
        for n, begun in enumerate(new(min(number, _FEW)))
    )
    begun = new(number)
    put(Platform(**b, organization_id=world.id, name=f"User {n}", slug=f"user-{n}") for n, b in enumerate(begun))
    shared = world.organization.project_block_id
    put(ProjectBlock(**b, **_in(world, b["id"]), project_block_id=shared, position=0) for b in begun)


_FEW: Final = 10
"""A set is bounded: replacing it takes as many writes as it has members."""


def _in(world: World, platform_id: str) -> dict[str, Any]:
    return {"organization_id": world.id, "platform_id": platform_id}

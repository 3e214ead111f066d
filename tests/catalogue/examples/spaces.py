"""Examples of the operations on spaces."""

from typing import Final

from chalicelib.features.spaces.entities import Space
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_platform_spaces": lambda world: example(platform_id=world.platform.id),
    "create_space": lambda world: example({"platformId": world.platform.id, "name": "Mills", "slug": "mills"}),
    "get_space": lambda world: example(space_id=world.space.id),
    "update_space": lambda world: example({"name": "Jacquard looms", "position": 7}, space_id=world.space.id),
    "delete_space": lambda world: example(space_id=world.space.id),
}


def crowd(world: World, number: int) -> None:
    """Let the platform have so many spaces more."""
    put(
        Space(
            **begun,
            organization_id=world.id,
            platform_id=world.platform.id,
            name=f"Room {n}",
            slug=f"room-{n}",
            position=n,
        )
        for n, begun in enumerate(new(number))
    )

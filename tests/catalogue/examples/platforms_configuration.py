"""Examples of the operations on the config of a platform."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World

EXAMPLES: Final[Examples] = {
    "get_platform_config": lambda world: example(platform_id=world.platform.id),
    "resolve_platform_config": lambda world: example(
        {"host": "engines.example.com:443", "path": f"/spaces/{world.space.record['slug']}/events", "locale": "en-GB"},
        platform_id=world.platform.id,
    ),
}


def add_neighbours(_world: World, _count: int) -> None:
    """Do nothing: the neighbours of a configuration are those of its platform."""

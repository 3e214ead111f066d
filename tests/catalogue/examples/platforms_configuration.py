"""Examples of the operations on the config of a platform."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {
    "get_platform_config": lambda world: example(platform_id=world.platform.id),
    "resolve_platform_config": lambda world: example(
        {"host": "engines.example.com:443", "path": f"/spaces/{world.space.record['slug']}/events", "locale": "en-GB"},
        platform_id=world.platform.id,
    ),
}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the neighbours of a configuration are those of its platform."""

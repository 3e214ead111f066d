"""Examples of the operations on custom domains, and on those of an organization's platforms."""

from typing import Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put, put_items
from tests.harness.domains import path

EXAMPLES: Final[Examples] = {
    "list_domain_inventory": lambda world: example(organization_id=world.id),
    "get_custom_domain": lambda world: example(platform_id=world.platform.id),
    "set_custom_domain": lambda world: example(
        {"domain": "engines.example.com"}, platform_id=world.platform.id, named=path(world.platform)
    ),
    "remove_custom_domain": lambda world: example(platform_id=world.platform.id, named=path(world.platform)),
    "verify_custom_domain": lambda world: example({}, platform_id=world.platform.id, named=path(world.platform)),
}


def add_neighbours(world: World, count: int) -> None:
    """Add platforms without domains to the organization."""
    neighbours = [
        Platform(**common_fields, organization_id=world.id, name=f"Engine {n}", slug=f"engine-{n}")
        for n, common_fields in enumerate(new(count))
    ]
    custom = [CustomDomain.create_unclaimed(platform) for platform in neighbours]
    put(custom)
    put_items(companion for each in custom for companion in each.derived_items)

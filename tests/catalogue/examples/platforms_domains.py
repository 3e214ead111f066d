"""Examples of the operations on custom domains, and on those of an organization's platforms."""

from typing import Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_items, put_records
from tests.harness.domains import custom_domain_path

EXAMPLES: Final[ExampleFactories] = {
    "set_custom_domain": lambda world: example(
        {"domain": "engines.example.com"}, target_path=custom_domain_path(world.platform)
    ),
    "remove_custom_domain": lambda world: example(target_path=custom_domain_path(world.platform)),
    "verify_custom_domain": lambda world: example({}, target_path=custom_domain_path(world.platform)),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add platforms without domains to the organization."""
    neighbours = [
        Platform(**common_fields, organization_id=world.id, name=f"Engine {n}", slug=f"engine-{n}")
        for n, common_fields in enumerate(new_records_fields(count))
    ]
    custom = [CustomDomain.create_unclaimed(platform) for platform in neighbours]
    put_records(custom)
    put_items(companion for each in custom for companion in each.derived_items)

"""Examples of the operations on sites."""

from typing import Final

from chalicelib.features.sites.entities.sites import Site
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "create_site": lambda _: example({"name": "Looms", "slug": "all-looms"}),
    "update_site": lambda _: example(
        {"name": "Difference Engines", "slug": "difference-site", "robots": {"disallow": ["/drafts"]}}
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add sites to the organization."""
    put_records(
        Site(**common_fields, organization_id=world.id, name=f"Neighbour {n}", slug=f"neighbouring-site-{n}")
        for n, common_fields in enumerate(new_records_fields(count))
    )

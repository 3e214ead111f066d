"""Examples of the operations on menus."""

from typing import Final

from chalicelib.features.sites.menus.entities import Menu
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records
from tests.harness.menus import group_item, page_item, url_item

EXAMPLES: Final[ExampleFactories] = {
    "put_navigation_menu": lambda world: example(
        {
            "name": "Main menu",
            "items": [page_item(world.page), group_item("More", url_item("https://example.com/spindles", "Spindles"))],
        }
    )
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add menus to the site."""
    put_records(
        Menu(
            **{**common_fields, "id": f"neighbour-{n}"},
            organization_id=world.id,
            site_id=world.site.id,
            name=f"Neighbour {n}",
        )
        for n, common_fields in enumerate(new_records_fields(count))
    )

"""Examples of the operations on menus."""

from typing import Final

from chalicelib.features.sites.menus.entities import Menu
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put
from tests.harness.menus import group, to_page, to_url

EXAMPLES: Final[Examples] = {
    "list_navigation_menus": lambda world: example(site_id=world.site.id),
    "get_navigation_menu": lambda world: example(site_id=world.site.id, navigation_id=world.organization.navigation_id),
    "put_navigation_menu": lambda world: example(
        {
            "name": "Main menu",
            "items": [to_page(world.page), group("More", to_url("https://example.com/spindles", "Spindles"))],
        },
        site_id=world.site.id,
        navigation_id=world.organization.navigation_id,
    ),
}


def add_neighbours(world: World, count: int) -> None:
    """Add menus to the site."""
    put(
        Menu(
            **{**common_fields, "id": f"neighbour-{n}"},
            organization_id=world.id,
            site_id=world.site.id,
            name=f"Neighbour {n}",
        )
        for n, common_fields in enumerate(new(count))
    )

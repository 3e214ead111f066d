"""Examples of the operations for visitors of a site."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {
    "resolve_site": lambda world: example(query={"host": world.site.record["host"], "path": "/looms"}),
    "get_page_by_path": lambda world: example(query={"path": "/looms"}, site_id=world.site.id),
    "get_home_page": lambda world: example(site_id=world.site.id),
    "get_robots_txt": lambda world: example(site_id=world.site.id),
    "get_sitemap": lambda world: example(site_id=world.site.id),
}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the neighbours of visits are those of pages and redirects."""

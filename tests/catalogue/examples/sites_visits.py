"""Examples of the operations of who visits a site."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World

EXAMPLES: Final[Examples] = {
    "resolve_site": lambda world: example(query={"host": world.site.record["host"], "path": "/looms"}),
    "get_page_by_path": lambda world: example(query={"path": "/looms"}, site_id=world.site.id),
    "get_home_page": lambda world: example(site_id=world.site.id),
    "get_robots_txt": lambda world: example(site_id=world.site.id),
    "get_sitemap": lambda world: example(site_id=world.site.id),
}


def crowd(_world: World, _number: int) -> None:
    """Let it be: who visits a site comes to what others have put there already."""

"""Examples of the operations on previews of pages."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {
    "preview_page": lambda world: example(
        query={"expiresIn": 3600, "revisionId": world.organization.revision_id},
        site_id=world.site.id,
        page_id=world.page.id,
    ),
    "preview_page_publicly": lambda world: example(
        query={"token": world.organization.preview_token}, site_id=world.site.id, page_id=world.page.id
    ),
}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the neighbours of previews are those of pages."""

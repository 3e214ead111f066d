"""Examples of the operations on previews of pages."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World

EXAMPLES: Final[Examples] = {
    "preview_page": lambda world: example(
        query={"expiresIn": 3600, "revisionId": world.organization.revision_id},
        site_id=world.site.id,
        page_id=world.page.id,
    ),
    "preview_page_publicly": lambda world: example(
        query={"token": world.organization.preview_token}, site_id=world.site.id, page_id=world.page.id
    ),
}


def crowd(_world: World, _number: int) -> None:
    """Let it be: previews stand beside what pages have already."""

"""Examples of the operations that document the service."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World

EXAMPLES: Final[Examples] = {
    "get_openapi_document": lambda _: example(),
    "get_docs": lambda _: example(),
    "get_docs_asset": lambda _: example(asset="docs.css"),
}


def add_neighbours(_world: World, _count: int) -> None:
    """Do nothing: the documentation consists of files."""

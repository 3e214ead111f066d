"""Examples of the operations that document the service."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {
    "get_openapi_document": lambda _: example(),
    "get_docs": lambda _: example(),
    "get_docs_asset": lambda _: example(asset="docs.css"),
}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the documentation consists of files."""

"""An example of the operation that lists event types."""

from typing import Final

from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {"list_event_types": lambda _: example()}


def add_neighbours(_world: TenantFixture, _count: int) -> None:
    """Do nothing: the count of event types is fixed."""

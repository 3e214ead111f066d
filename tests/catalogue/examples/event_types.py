"""An example of the operation that lists the types of events."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World

EXAMPLES: Final[Examples] = {"list_event_types": lambda _: example()}


def crowd(_world: World, _number: int) -> None:
    """There are as many types of events as there are."""

"""Examples of the operations on the service itself."""

from typing import Final

from tests.catalogue.examples.example import Examples, example
from tests.catalogue.world import World

EXAMPLES: Final[Examples] = {"get_status": lambda _: example()}


def crowd(_world: World, _number: int) -> None:
    """Nothing stands beside the service."""

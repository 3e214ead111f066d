"""Examples of the operations on the domains of an organization's platforms."""

from typing import Final

from chalicelib.kernel.clock import now
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.world import World, put
from tests.harness.platforms import platform

EXAMPLES: Final[Examples] = {"list_domain_inventory": lambda world: example(organization_id=world.id)}


def crowd(world: World, number: int) -> None:
    """Let the organization have so many platforms."""
    moment = now()
    put(platform(world.id, moment, platform_name=f"Engine {n}") for n in range(number))

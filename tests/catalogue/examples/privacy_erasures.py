"""Examples of the operations on erasures."""

from typing import Final

from chalicelib.features.privacy.erasures.entities import Erasure
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "erase_person": lambda world: example({"email": "gone@example.org"}, organization_id=world.id),
    "get_erasure": lambda world: example(organization_id=world.id, erasure_id=world.organization.erasure_id),
}


def crowd(world: World, number: int) -> None:
    """Let so many people have been erased before."""
    put(Erasure(**begun, organization_id=world.id, status="completed", step="entries") for begun in new(number))

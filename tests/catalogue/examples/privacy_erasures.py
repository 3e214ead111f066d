"""Examples of the operations on erasures."""

from typing import Final

from chalicelib.features.privacy.erasures.entities import Erasure
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {"erase_person": lambda _: example({"email": "gone@example.org"})}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add completed erasures."""
    put_records(
        Erasure(**common_fields, organization_id=world.id, status="completed", step="entries")
        for common_fields in new_records_fields(count)
    )

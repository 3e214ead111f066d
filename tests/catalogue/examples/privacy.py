"""Examples of the operations on erasures."""

from typing import Final

from chalicelib.features.privacy.erasures.entities import Erasure
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {"erase_person": lambda _: example({"email": "gone@example.org"})}


def build_erasures(tenant: TenantFixture, _n: int) -> Neighbours:
    yield Erasure(**new_fields(), organization_id=tenant.id, status="completed", step="entries")

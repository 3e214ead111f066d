"""Examples of the operations on application events and on service keys."""

from typing import Final

from chalicelib.features.events.service_keys.entities import ServiceKey
from chalicelib.kernel.core.clock import after
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture

EXAMPLES: Final[ExampleFactories] = {
    "create_service_key": lambda _: example({"name": "Billing", "types": ["invoice.*"]}),
    "rotate_service_key": lambda _: example({"graceHours": 1}),
}


def build_service_keys(_tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a service key."""
    fields = new_fields()
    yield ServiceKey(
        **fields,
        name=f"Neighbour {n}",
        scopes=["events:write"],
        digests={f"{n:064x}": None},
        hint="atr_…eVQS",
        expires_at=after(fields["created_at"], days=300),
    )

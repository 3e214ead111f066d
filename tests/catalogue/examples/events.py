"""Examples of the operations on application events and on service keys."""

from typing import Final

from chalicelib.features.events.service_keys.entities import ServiceKey
from chalicelib.features.events.types.entities import EventType
from chalicelib.kernel.audit_log.application_events import Reception, ReportedEvent, receive_events
from chalicelib.kernel.core.clock import after
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.application_events import INVOICE, NIGHTLY_EXPORT

EVENT: Final = {
    "type": "invoice.approved",
    "actor": {"type": "clerk", "id": "c-17", "name": "Edith Clarke"},
    "targets": [{"type": "invoice", "id": "INV-42", "name": "Invoice 42"}],
    "context": {"ipAddress": "198.51.100.7", "userAgent": "Billing/2"},
    "data": {"amount": 120, "note": "Paid in two parts"},
}
"""An event of the type that the tenant's deployment declares."""

EXAMPLES: Final[ExampleFactories] = {
    "put_event_type": lambda _: example(
        {
            "description": "An invoice was approved for payment.",
            "sentence": "{actor} approved {target} over {data.amount}.",
            "schema": {"type": "object", "properties": {"amount": {"type": "integer"}}},
        },
        event_type="invoice.approved",
    ),
    "create_service_key": lambda _: example({"name": "Billing", "types": ["invoice.*"]}),
    "rotate_service_key": lambda _: example({"graceHours": 1}),
    "create_event": lambda _: example(EVENT),
    "create_events": lambda _: example({"events": [EVENT]}),
}


def build_entries(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an application event."""
    reports = [ReportedEvent("invoice.approved", 1, targets=[{**INVOICE, "id": f"INV-{n}"}], data={"amount": n + 1})]
    yield from receive_events(
        reports, Reception(tenant.id, new_fields()["created_at"], NIGHTLY_EXPORT, "create_event", None)
    )


def build_types(_tenant: TenantFixture, n: int) -> Neighbours:
    """Yield an event type, and the item with its name."""
    fields = new_fields()
    name = f"neighbour.{chr(97 + n // 26)}{chr(97 + n % 26)}"
    event_type = EventType(
        **fields,
        type=name,
        description="A neighbour was seen.",
        sentence="{actor} saw {target}.",
        deprecated=False,
        data_schema={"type": "object"},
        schema_digest=f"{n:064x}",
        schema_created_at=[fields["created_at"]],
    )
    yield event_type
    yield from event_type.derived_items


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

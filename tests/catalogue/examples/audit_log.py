"""Examples of the operations on an organization's log."""

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from tests.catalogue.tenant_fixture import TenantFixture, put_items
from tests.harness.pending_entries import build_pending_items


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add entries to the log of the organization."""
    timestamp = now()
    put_items(build_pending_items(_rename_event(world, timestamp, f"Name {n}") for n in range(count)))
    ledger.append_pending_and_return_longest_wait_ms(world.id)


def _rename_event(world: TenantFixture, timestamp: str, name: str) -> Event:
    return Event(
        id=new_id(timestamp),
        type="organization.updated",
        occurred_at=timestamp,
        log=world.id,
        actor={"type": "system", "id": None, "name": None},
        target={"type": "organization", "id": world.id, "name": name},
        context={"operationId": "crowd", "requestId": None, "ipAddress": None, "userAgent": None},
        changes=[{"field": "name", "from": None, "to": name}],
        data={"name": name},
    )

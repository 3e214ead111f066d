"""Examples of the operations on the service itself."""

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.catalogue.tenant_fixture import TenantFixture, put_items
from tests.harness.pending_entries import build_pending_items
from tests.harness.sample_operations import build_notice_event


def add_neighbours(_world: TenantFixture, count: int) -> None:
    """Add entries to logs outside of organizations."""
    put_items(build_pending_items(build_notice_event() for _ in range(count)))
    for log in SYSTEM_LOGS:
        ledger.append_pending_and_return_longest_wait_ms(log)

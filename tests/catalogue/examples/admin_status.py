"""Examples of the operations on the service itself."""

from typing import Final

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, put_items
from tests.harness.entries import items_of
from tests.harness.notices import posting

EXAMPLES: Final[Examples] = {
    "get_status": lambda _: example(),
    "list_system_audit_log": lambda _: example(),
}


def add_neighbours(_world: World, count: int) -> None:
    """Add entries to logs outside of organizations."""
    put_items(items_of(posting() for _ in range(count)))
    for log in SYSTEM_LOGS:
        ledger.append_pending(log)

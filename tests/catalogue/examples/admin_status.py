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


def crowd(_world: World, number: int) -> None:
    """Let so many things have happened outside of any organization."""
    put_items(items_of(posting() for _ in range(number)))
    for log in SYSTEM_LOGS:
        ledger.append_pending(log)

"""Application events that are committed without the operation that receives them."""

from collections.abc import Sequence
from typing import Any, Final

from chalicelib.kernel.audit_log.application_events import Reception, Reference, ReportedEvent, receive_events
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox

NIGHTLY_EXPORT: Final[Reference] = {
    "type": "api_key",
    "id": "01939d3c-0000-7000-8000-00000000000d",
    "name": "Nightly export",
}
"""The principal who reports the events of tests."""

ADA: Final[Reference] = {"type": "customer", "id": "C-17", "name": "Ada"}
INVOICE: Final[Reference] = {"type": "invoice", "id": "INV-42", "name": "Invoice 42"}


def commit_application_event(
    log: str,
    event_type: str = "invoice.approved",
    *,
    actor: Reference | None = ADA,
    targets: Sequence[Reference] = (INVOICE,),
    data: dict[str, Any] | None = None,
    reported_by: Reference = NIGHTLY_EXPORT,
    **fields: Any,
) -> str:
    """Commit the entry of an application event to a log, and return its id."""
    version = fields.pop("version", 1)
    reported = ReportedEvent(event_type, version, actor=actor, targets=targets, data=data, **fields)
    changes = UnitOfWork(now())
    events = receive_events([reported], Reception(log, changes.now, reported_by, "create_event", None))
    outbox.commit_events(changes, events)
    return events[0].id

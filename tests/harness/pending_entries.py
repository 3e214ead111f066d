"""Pending log entries without operations, to fill logs quickly."""

from collections.abc import Iterable, Sequence
from typing import Any

from chalicelib.kernel.audit_log.entries import Event, LogEvent, outbox_writes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.storage.entity import Item


def build_event(
    event_type: str, log: str, target: dict[str, Any], data: dict[str, Any], changes: Sequence[dict[str, Any]] = ()
) -> Event:
    """Return an event of the service itself."""
    timestamp = now()
    return Event(
        id=new_id(timestamp),
        type=event_type,
        occurred_at=timestamp,
        log=log,
        actor={"type": "system", "id": None, "name": None},
        target=target,
        context={"operationId": "fill", "requestId": None, "ipAddress": None, "userAgent": None},
        changes=[*changes],
        data=data,
    )


def build_pending_items(events: Iterable[LogEvent]) -> list[Item]:
    """Return the items that the commits of events write, before the ledger appends the entries."""
    chains: dict[str, Chains] = {}
    items: dict[tuple[str, str], Item] = {}
    for event in events:
        if event.log not in chains:
            chains[event.log] = Chains.read(event.log)
        chain = chains[event.log]
        written = [write.item or {} for write in outbox_writes([event], chain)]
        chain.use_other_chain(written[-1])
        chain.use_other_chain()  # The next entry extends the same chain.
        items |= {(item["pk"], item["sk"]): item for item in written}
    return [*items.values()]

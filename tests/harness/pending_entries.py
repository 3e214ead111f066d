"""Pending log entries without operations, to fill logs quickly."""

from collections.abc import Iterable

from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.storage.entity import Item


def build_pending_items(events: Iterable[Event]) -> list[Item]:
    """Return the items that the commits of events write, before the ledger appends the entries."""
    chains: dict[str, Chains] = {}
    items: dict[tuple[str, str], Item] = {}
    for event in events:
        if event.log not in chains:
            chains[event.log] = Chains.read(event.log)
        chain = chains[event.log]
        written = [write.item or {} for write in event.outbox_writes(chain)]
        chain.advance_in_memory(chain.next_link, written[-1]["mac"])
        items |= {(item["pk"], item["sk"]): item for item in written}
    return [*items.values()]

"""The outbox: commits changes together with the entry about them, then wakes the log's ledger."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.audit_log.entries import Event, differences
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import if_possible, report
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_sets import Whole
from chalicelib.kernel.storage.table import Write
from chalicelib.kernel.transactions.unit_of_work import Changes
from chalicelib.kernel.work import queues, tasks


@dataclass(frozen=True)
class Origin:
    """Where a change came from: who made it, by which operation, in which request.

    `emits`: the events that the operation, or the task, says it can emit.
    """

    actor: Mapping[str, str | None]
    operation_id: str
    emits: Container[str]
    request_id: str | None = None
    ip: str | None = None
    user_agent: str | None = None

    @classmethod
    def system(cls, task: str) -> "Origin":
        """Return the origin of what the service does by itself, in a task. Raises UnknownTask."""
        return cls({"type": "system", "id": None, "name": None}, task, tasks.find(task).emits)

    def context(self) -> dict[str, str | None]:
        """Return the entry's `context`."""
        return {
            "operationId": self.operation_id, "requestId": self.request_id, "ipAddress": self.ip,
            "userAgent": self.user_agent,
        }  # fmt: skip


def commit(changes: Changes, event_type: str, origin: Origin, first: Write | None = None) -> None:
    """Commit changes and their entry in one transaction. Raises what `Changes.commit` raises.

    Raises ValueError if nobody who listens for events can know of this one: its origin does not declare it.

    Once that is done nothing fails any more: if the ledger can't be woken, for whatever reason, the sweep finds the
    entry, and what was to be started.
    """
    if event_type not in origin.emits:
        raise ValueError(f"{origin.operation_id} does not say that it emits {event_type!r}")
    event = _event(changes, event_type, origin)
    if changes.chains is None or changes.chains.log != event.log:
        changes.chains = Chains(event.log) if changes.begins(event.log) else Chains.read(event.log)
    changes.commit(first, event)
    report(event=event.type, eventId=event.id)
    with if_possible("wake"):
        queues.wake(event.log, event.id, changes.starts)


def _event(changes: Changes, event_type: str, origin: Origin) -> Event:
    before, now = changes.target
    record = now or before
    if record is None:
        raise ValueError("an entry is about a record")
    public = shown(record)
    return Event(
        id=new_id(changes.moment),
        type=event_type,
        occurred_at=changes.moment,
        log=record.log,
        actor=origin.actor,
        target={"type": record.kind, "id": record.id, "name": record.name_shown},
        context=origin.context(),
        changes=differences(_told(before), _told(now), record.unlogged) if before and now else [],
        data=public,
    )


def _told(record: Entity) -> Mapping[str, Any]:
    return record.apart(shown(record)) if isinstance(record, Whole) else shown(record)


def shown(record: Entity) -> Mapping[str, Any]:
    """Return the public record: what an entry and its event say, and what a merge patch is merged into."""
    public: Mapping[str, Any] = record.public.of(record).model_dump(mode="json", by_alias=True)
    return public

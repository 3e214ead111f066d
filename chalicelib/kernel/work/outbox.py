"""The outbox: commits changes with their log entry, then triggers the log's ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.kernel.audit_log.entries import Event, LogEvent, list_field_changes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.logs import add_fields, log_and_ignore_aws_errors
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues, tasks


@dataclass(frozen=True)
class Origin:
    """The origin of a change: actor, operation and request.

    `emits`: the events that the operation or task declares, the usual one first.
    """

    actor: Mapping[str, Any]
    operation_id: str
    emits: Sequence[str]
    request_id: str | None = None
    ip: str | None = None
    user_agent: str | None = None

    @classmethod
    def system(cls, task: str) -> "Origin":
        """Return the origin of changes that a task makes. Raises UnknownTask."""
        return cls({"type": "system", "id": None, "name": None}, task, [*tasks.get_task(task).emits])


def commit(changes: UnitOfWork, origin: Origin, idempotency_write: Write | None = None) -> None:
    """Commit changes and the log entry of their event in one transaction. Raises as `UnitOfWork.commit` does.

    If the changes contain reported events, their entries are committed instead.

    Raises ValueError if the changes have no event, if the origin does not declare it, or if the changes include records
    of types whose `log_rules` do not declare it. These are errors in the code. Nothing is committed, also in
    production: the request fails with 500, which an alarm reports, and a release mends it. Without the error, a
    reconciliation would report the change as one that somebody without the service has made, and operators would treat
    it as a break-in.

    After the commit nothing fails: if the ledger cannot be triggered, the sweep finds the entry and the tasks to start.
    """
    if changes.reported_events:
        commit_events(changes, changes.reported_events, idempotency_write)
        return
    event_type = changes.declared_event.type or next(iter(origin.emits), "")
    if event_type not in origin.emits:
        raise ValueError(f"{origin.operation_id} does not declare that it emits {event_type!r}")
    if kinds := changes.undeclared_kinds_changed_with_event(event_type):
        raise ValueError(f"{event_type} changes {sorted(kinds)}: add it to `changed_by` in their `log_rules`")
    commit_events(changes, [_build_log_event(changes, event_type, origin)], idempotency_write)


def commit_events(changes: UnitOfWork, events: Sequence[LogEvent], idempotency_write: Write | None = None) -> None:
    """Commit changes with the entries of events of one log that are about no change of a record.

    Otherwise use `commit`. Raises as `UnitOfWork.commit` does.
    """
    first, log = events[0], events[0].log
    if changes.chains is None or changes.chains.log != log:
        changes.chains = Chains(log) if changes.is_new_log(log) else Chains.read(log)
    changes.commit(idempotency_write, events)
    add_fields(event=first.type, eventId=first.id)
    if len(events) > 1:
        add_fields(events=len(events))
    with log_and_ignore_aws_errors("wake"):
        queues.notify_ledger(log, first.id, changes.tasks_after_commit)


def _build_log_event(changes: UnitOfWork, event_type: str, origin: Origin) -> Event:
    before, after = changes.event_subject_before_and_after
    record = after or before
    if record is None:
        raise ValueError("the changes have no event subject")
    public = public_fields_of_record(record)
    return Event(
        id=changes.entry_id or new_id(changes.latest_change_at),
        type=event_type,
        occurred_at=changes.latest_change_at,
        log=record.audit_log_id,
        actor=origin.actor,
        target={"type": record.kind, "id": record.id, "name": record.audit_log_label},
        context={
            "operationId": origin.operation_id,
            "requestId": origin.request_id,
            "ipAddress": origin.ip,
            "userAgent": origin.user_agent,
        },
        changes=list_field_changes(
            _public_view_with_flattened_items(before), _public_view_with_flattened_items(after), record.untracked_fields
        )
        if before and after
        else [],
        data=public,
    )


def _public_view_with_flattened_items(record: Entity) -> Mapping[str, Any]:
    return (
        record.flattened_items_for_diff(public_fields_of_record(record))
        if isinstance(record, RecordSet)
        else public_fields_of_record(record)
    )


def public_fields_of_record(record: Entity) -> Mapping[str, Any]:
    """Return the public record, as in log entries and events, and as the target of a merge patch."""
    public: Mapping[str, Any] = record.output_model.of(record).model_dump(mode="json", by_alias=True)
    return public

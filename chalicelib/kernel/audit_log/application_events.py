"""Application events: events that an application reports, with the identity of the principal who reported them.

Their entries have fields that those of built-in events lack: `version`, `receivedAt`, `reportedBy` and `targets`. The
log orders and filters them by the time of receipt, because `occurredAt` is what the caller says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.kernel.audit_log.entries import RECEIVED_AT, LogEvent, canonical_json
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.log_ids import organization_id_from_log

Reference = Mapping[str, str | None]
"""A reference to something that acted or was acted on: its type, its id, and its name or None."""


@dataclass(frozen=True)
class ReportedEvent:
    """What an application reports. `version`: of the schema of the type. `occurred_at`: None for the time of receipt.

    `actor`: whom the caller names as the actor, or None for the caller itself. `ip_address` and `user_agent`: those of
    the actor, as the caller states them.
    """

    type: str
    version: int
    occurred_at: str | None = None
    actor: Reference | None = None
    targets: Sequence[Reference] = ()
    ip_address: str | None = None
    user_agent: str | None = None
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Reception:
    """How the service received some events: in which log, when, from which principal, and in which request."""

    log: str
    received_at: str
    reported_by: Reference
    operation_id: str
    request_id: str | None


@dataclass(frozen=True)
class ApplicationEvent(LogEvent):
    """An event that an application reported, as the log records it."""

    id: str
    reported: ReportedEvent
    reception: Reception
    type: str = field(init=False)
    log: str = field(init=False)
    context: Mapping[str, str | None] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.reported.type)
        object.__setattr__(self, "log", self.reception.log)
        context = {
            "operationId": self.reception.operation_id,
            "requestId": self.reception.request_id,
            "ipAddress": self.reported.ip_address,
            "userAgent": self.reported.user_agent,
        }
        object.__setattr__(self, "context", context)

    @property
    def received_at(self) -> str:
        """The time of receipt."""
        return self.reception.received_at

    def canonical_leaf_bytes(self) -> bytes:
        """Return the leaf data. It contains `data` as a whole, however long its values are."""
        reported, reception = self.reported, self.reception
        targets = [dict(target) for target in reported.targets]
        return canonical_json(
            {
                "id": self.id,
                "type": self.type,
                "version": reported.version,
                "occurredAt": reported.occurred_at or reception.received_at,
                RECEIVED_AT: reception.received_at,
                "organizationId": organization_id_from_log(self.log),
                "actor": {**reported.actor, "asserted": True} if reported.actor else reception.reported_by,
                "reportedBy": reception.reported_by,
                "target": targets[0] if targets else None,
                "targets": targets,
                "context": self.context,
                "changes": [],
                "data": reported.data,
            }
        )


def receive_events(reports: Sequence[ReportedEvent], reception: Reception) -> list[ApplicationEvent]:
    """Return reported events with new ids, which have the order of the reports."""
    new_ids = sorted(new_id(reception.received_at) for _ in reports)
    return [
        ApplicationEvent(identifier, report, reception) for identifier, report in zip(new_ids, reports, strict=True)
    ]


def is_application_event(content: Mapping[str, Any]) -> bool:
    """Return whether an entry, given as its JSON object, is that of an application event."""
    return RECEIVED_AT in content


def is_application_entry_item(item: Item) -> bool:
    """Return whether a stored entry is that of an application event, also if it was erased."""
    return item.get("origin") == "application"

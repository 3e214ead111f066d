"""The JSON that programs receive about an event, from webhooks and from channels of the provider `webhook`. No I/O."""

from collections.abc import Mapping
from typing import Any

from chalicelib.kernel.audit_log.application_events import is_application_event


def build_event_payload(entry: Mapping[str, Any], sequence: int | None) -> dict[str, Any]:
    """Return what a subscriber receives of a log entry.

    It is never longer than the entry, whose long values are digests already. The name of the actor, the target and the
    context of the request stay in the log. `sequence` is None for a test message, which is no event of the log.

    An application event has more fields. Its `data` and `targets` are what the application sent, and `reportedBy` says
    who vouches for them, with the name.
    """
    payload = {
        "type": entry["type"],
        "timestamp": entry["occurredAt"],
        "data": entry["data"],
        "organizationId": entry["organizationId"],
        "sequence": sequence,
        "actor": _principal_reference(entry["actor"]),
        "changes": entry["changes"],
    }
    return payload | _application_event_fields(entry) if is_application_event(entry) else payload


def _application_event_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    actor = entry["actor"]
    asserted = {"asserted": True} if actor.get("asserted") else {}
    return {
        "version": entry["version"],
        "receivedAt": entry["receivedAt"],
        "actor": _principal_reference(actor) | asserted,
        "reportedBy": entry["reportedBy"],
        "targets": entry["targets"],
    }


def _principal_reference(principal: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": principal["type"], "id": principal["id"]}
